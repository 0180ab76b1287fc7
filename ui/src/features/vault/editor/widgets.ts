// What stands in the text of a page in place of its marks: a box of a task, a picture of the vault.
import { type EditorView, WidgetType } from "@codemirror/view";
import { addressOfPicture } from "../../../api/vault";
import { t } from "../../../i18n";

/** `[ ]` as a box; a click writes the text. */
export class TaskWidget extends WidgetType {
  constructor(
    readonly isDone: boolean,
    readonly said: string,
  ) {
    super();
  }

  override eq(other: TaskWidget): boolean {
    return other.isDone === this.isDone && other.said === this.said;
  }

  override toDOM(view: EditorView): HTMLElement {
    const label = document.createElement("label");
    label.className = "cm-task";
    const box = document.createElement("input");
    box.type = "checkbox";
    box.checked = this.isDone;
    box.tabIndex = -1;
    box.setAttribute("aria-label", this.said || t("Task"));
    box.addEventListener("mousedown", (event) => event.preventDefault());
    box.addEventListener("click", (event) => {
      event.preventDefault();
      const from = view.posAtDOM(label);
      const now = view.state.sliceDoc(from, from + 3);
      if (!/^\[[ xX]\]$/.test(now)) return;
      const insert = now === "[ ]" ? "x" : " ";
      view.dispatch({ changes: { from: from + 1, to: from + 2, insert }, userEvent: "input.task" });
    });
    label.append(box);
    return label;
  }

  override ignoreEvent(): boolean {
    return true;
  }
}

export class BulletWidget extends WidgetType {
  override eq(): boolean {
    return true;
  }

  override toDOM(): HTMLElement {
    const dot = document.createElement("span");
    dot.className = "cm-list-mark";
    dot.textContent = "•";
    return dot;
  }

  override ignoreEvent(): boolean {
    return false;
  }
}

export class PictureWidget extends WidgetType {
  constructor(
    readonly page: string,
    readonly source: string,
    readonly alt: string,
  ) {
    super();
  }

  override eq(other: PictureWidget): boolean {
    return other.source === this.source && other.alt === this.alt && other.page === this.page;
  }

  override toDOM(): HTMLElement {
    const image = document.createElement("img");
    image.className = "cm-picture";
    image.alt = this.alt;
    image.loading = "lazy";
    image.src = addressOfPicture(this.source, this.page);
    return image;
  }

  override ignoreEvent(): boolean {
    return false;
  }
}
