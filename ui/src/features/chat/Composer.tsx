// Where a message is written: its words, what it takes along, what it is about, and who answers.
import {
  lazy,
  type Ref,
  Suspense,
  useEffect,
  useId,
  useImperativeHandle,
  useRef,
  useState,
} from "react";
import { withNamed } from "../../run/named";
import type { Session } from "../../run/session";
import type { SessionView } from "../../run/view";
import { useApp } from "../../services/context";
import { useStore } from "../../services/store";
import { Completions } from "./CompletionList";
import styles from "./Composer.module.css";
import { ComposerField } from "./ComposerField";
import { ComposerFoot } from "./ComposerFoot";
import chat from "./chat.module.css";
import { FromHere } from "./FromHere";
import { NamedChips } from "./NamedChips";
import { PasteOffer } from "./PasteOffer";
import { PromptFill } from "./PromptFill";
import { Queue } from "./Queue";
import { TemporaryNote } from "./TemporaryMark";
import { UploadChips } from "./UploadChips";
import { useChoices } from "./useChoices";
import { useCompletion } from "./useCompletion";
import { useFileLimit } from "./useFileLimit";
import { useHint } from "./useHint";
import { useReach } from "./useReach";
import { useWriting } from "./useWriting";

const Dictation = lazy(() => import("./voice/Dictation"));

export type ComposerHandle = { focus: () => void; put: (text: string) => void };

type ComposerProps = { ref: Ref<ComposerHandle>; session: Session; view: SessionView };

export function Composer({ ref, session, view }: ComposerProps) {
  const { toasts } = useApp();
  const writing = useWriting(session);
  const { field, text, caret, put, insert } = writing;
  const place = useRef<HTMLDivElement>(null);
  useReach(place);
  useFileLimit(session);
  const menu = useId();
  const uploads = useStore(session.uploads.store);
  const [pasted, setPasted] = useState<string | null>(null);
  const [dictating, setDictating] = useState(false);
  const { choose, filling, fill } = useChoices(session, { text, caret, put });
  const completion = useCompletion({ text, caret, conversation: view.id }, choose);
  const hint = useHint(uploads, text, view);
  useImperativeHandle(ref, () => ({
    focus: () => field.current?.focus(),
    put: (next) => put(next, next.length),
  }));
  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches) field.current?.focus();
  }, [field]);
  const send = () => {
    if (!text.trim()) return;
    put("", 0);
    setPasted(null);
    void session.send(withNamed(text.trim(), session.named.get()));
    session.named.set([]);
  };
  const temporary = Boolean((view.conversation ?? view.begin).temporary);
  return (
    <div ref={place} className={`${chat.column} ${styles.place} print-hidden`}>
      <FromHere session={session} view={view} />
      <Queue session={session} view={view} uploads={uploads} onPut={(words) => put(words)} />
      {filling && (
        <PromptFill key={filling.key} name={filling.name} variables={filling.variables} {...fill} />
      )}
      <Completions id={menu} completion={completion} />
      <form
        className={`${styles.composer} ${temporary ? styles.temporary : ""}`}
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <NamedChips named={session.named} />
        <UploadChips list={uploads} uploads={session.uploads} />
        {pasted && text.includes(pasted) && (
          <PasteOffer
            text={pasted}
            onKeep={() => setPasted(null)}
            onFile={(file) => {
              const at = text.indexOf(pasted);
              put(
                text.replace(pasted, () => ""),
                at,
              );
              setPasted(null);
              session.uploads.add([file]);
            }}
          />
        )}
        <ComposerField
          session={session}
          view={view}
          writing={writing}
          completion={completion}
          menu={menu}
          onSend={send}
          onLong={setPasted}
        />
        {dictating ? (
          <Suspense fallback={null}>
            <Dictation
              onText={(words) => {
                setDictating(false);
                insert(words);
              }}
              onEnd={() => {
                setDictating(false);
                field.current?.focus();
              }}
            />
          </Suspense>
        ) : (
          <ComposerFoot
            session={session}
            view={view}
            hint={hint}
            empty={!text.trim()}
            onFiles={(files) => {
              session.uploads.add(files);
              field.current?.focus();
            }}
            onDictate={() => setDictating(true)}
            onStop={() => void session.stop().catch(toasts.fault)}
          />
        )}
      </form>
      {temporary && <TemporaryNote />}
    </div>
  );
}
