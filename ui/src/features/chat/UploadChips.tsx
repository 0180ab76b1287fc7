import { CircleAlert, LoaderCircle, RotateCw, X } from "lucide-react";
import { useState } from "react";
import { t } from "../../i18n";
import { IconButton } from "../../kit/Button";
import type { Upload, Uploads } from "../../run/uploads";
import { bytes } from "../../services/words";
import { PICTURES } from "./attached";
import styles from "./Chips.module.css";
import { iconOf } from "./FileChip";
import { Thumbnail } from "./Thumbnail";

/** How it is with a file on its way, in words. */
export function stateOf({ file, problem, gone, size }: Upload): string {
  if (problem) return problem.detail || problem.title;
  if (file) return size ? bytes(size) : "";
  return gone < 1 ? `${Math.floor(gone * 100)} %` : t("Saving");
}

function UploadChip({ one, uploads }: { one: Upload; uploads: Uploads }) {
  const [undrawn, setUndrawn] = useState(false);
  const { key, name, content, file, problem, mediaType, gone } = one;
  const going = !file && !problem;
  const picture = !problem && !undrawn && PICTURES.includes(mediaType) && (content ?? file?.url);
  const Icon = problem ? CircleAlert : going ? LoaderCircle : iconOf(name);
  const look = problem ? styles.fault : going ? styles.going : "";
  return (
    <li className={`${styles.chip} ${look} ${picture ? styles.pictured : ""}`}>
      {picture ? (
        <Thumbnail
          of={picture}
          alt=""
          className={styles.thumbnail}
          onGone={() => setUndrawn(true)}
        />
      ) : (
        <Icon size={16} strokeWidth={1.75} aria-hidden />
      )}
      <span className={styles.words}>
        <span className="clip">{name}</span>
        <small role={problem ? "alert" : undefined}>{stateOf(one)}</small>
      </span>
      {problem && problem.code !== "not_sent" && (
        <IconButton
          icon={RotateCw}
          size={14}
          label={t("Try again: {name}", { name })}
          onClick={() => uploads.retry(key)}
        />
      )}
      <IconButton
        icon={X}
        size={14}
        label={file || problem ? t("Remove: {name}", { name }) : t("Cancel: {name}", { name })}
        onClick={() => uploads.remove(key)}
      />
      {going && <progress max={1} value={gone} aria-label={t("Uploading {name}", { name })} />}
    </li>
  );
}

/** Files that the next message takes along. */
export function UploadChips({ list, uploads }: { list: readonly Upload[]; uploads: Uploads }) {
  const mine = list.filter(({ claimed }) => !claimed);
  if (!mine.length) return null;
  return (
    <ul className={styles.chips} aria-label={t("Files to send")}>
      {mine.map((one) => (
        <UploadChip key={one.key} one={one} uploads={uploads} />
      ))}
    </ul>
  );
}
