// The library: documents that answers can quote, found by what they say, opened at the passage.
import type { DocumentsPlace } from "../../services/router";
import { FoldersPage } from "./FoldersPage";
import { GraphPage } from "./GraphPage";
import { LibraryPage } from "./LibraryPage";
import { Viewer } from "./Viewer";

export default function DocumentsRoom({ place }: { place: DocumentsPlace }) {
  switch (place.view) {
    case "library":
      return <LibraryPage collection={place.collection} query={place.query} />;
    case "folders":
      return <FoldersPage />;
    case "graph":
      return <GraphPage place={place} />;
    case "document":
      return <Viewer key={place.document} id={place.document} place={place} />;
  }
}
