// The one anatomy of a room: a list, the page, and a side that is there only if it has something to say.
import { ArrowLeft, PanelLeft, X } from "lucide-react";
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from "react";
import { t } from "../i18n";
import { remember, remembered } from "../services/store";
import { Button, IconButton } from "./Button";
import { Dialog } from "./Dialog";
import { Divider } from "./Divider";
import styles from "./panes.module.css";
import { NARROW, PHONE, useMedia } from "./pieces";

type PanesProps = {
  /** Keeps the widths of this room on this device. */
  name: string;
  list?: ReactNode;
  listLabel?: string;
  /** On a phone, where they take turns: the page is shown, not the list. */
  isOpen?: boolean;
  /** On a phone: back to the list. */
  onBack?: () => void;
  /** Not there if it is null. */
  side?: ReactNode;
  sideLabel?: string;
  /** The side can be closed; without it, it goes when the page shows something else. */
  onCloseSide?: () => void;
  children: ReactNode;
};

type Widths = { list: number; side: number; folded: boolean };
const LIST = { least: 200, usual: 280, most: 480 };
const SIDE = { least: 260, usual: 320, most: 760 };
const usual: Widths = { list: LIST.usual, side: SIDE.usual, folded: false };

type PanesState = {
  /** They take turns on one column. */
  phone: boolean;
  /** There is a list at all. */
  hasList: boolean;
  /** It stands beside the page. */
  isBeside: boolean;
  folded: boolean;
  fold: () => void;
  back: (() => void) | undefined;
  listLabel: string;
};
const Context = createContext<PanesState | null>(null);

/** How the panes around this part stand; null outside of them. */
export const usePanes = (): PanesState | null => useContext(Context);

export function Panes(props: PanesProps) {
  const {
    name,
    list,
    listLabel = "",
    isOpen = true,
    onBack,
    side,
    sideLabel = "",
    onCloseSide,
  } = props;
  const phone = useMedia(PHONE);
  const narrow = useMedia(NARROW);
  const key = `bethink.panes.${name}`;
  const [widths, setWidths] = useState(() => remembered<Widths>(key, usual));
  const change = (patch: Partial<Widths>) => {
    const next = { ...widths, ...patch };
    setWidths(next);
    remember(key, next);
  };
  const { folded } = widths;
  const has = list != null;
  const state = useMemo(
    (): PanesState => ({
      phone,
      hasList: has,
      isBeside: has && !phone && !folded,
      folded,
      fold: () => {
        setWidths((now) => {
          remember(key, { ...now, folded: !now.folded });
          return { ...now, folded: !now.folded };
        });
      },
      back: onBack,
      listLabel,
    }),
    [phone, has, folded, key, onBack, listLabel],
  );
  const hasList = has && (phone ? !isOpen : !folded);
  const hasPage = !phone || isOpen || !has;
  const hasSide = side != null && side !== false && hasPage;
  return (
    <Context value={state}>
      <div
        className={styles.panes}
        style={{ "--list": `${widths.list}px`, "--side": `${widths.side}px` } as object}
      >
        {hasList && (
          <aside className={styles.list} aria-label={listLabel}>
            {list}
            {!phone && (
              <Divider
                label={t("Width of {name}", { name: listLabel })}
                edge="end"
                {...LIST}
                value={widths.list}
                onChange={(width) => change({ list: width })}
              />
            )}
          </aside>
        )}
        {hasPage && <div className={styles.page}>{props.children}</div>}
        {hasSide &&
          (phone ? (
            <Dialog title={sideLabel} className="sheet-dialog foot" onClose={() => onCloseSide?.()}>
              <div className={`${styles.sheet} scroll`}>{side}</div>
            </Dialog>
          ) : (
            <Side
              label={sideLabel}
              over={narrow}
              width={widths.side}
              onWidth={(width) => change({ side: width })}
              onClose={onCloseSide}
            >
              {side}
            </Side>
          ))}
      </div>
    </Context>
  );
}

type SideProps = {
  label: string;
  /** It lies over the page. */
  over: boolean;
  width: number;
  onWidth: (width: number) => void;
  onClose: (() => void) | undefined;
  children: ReactNode;
};

function Side({ label, over, width, onWidth, onClose, children }: SideProps) {
  useEffect(() => {
    if (!over || !onClose) return;
    const press = (event: KeyboardEvent) => {
      if (event.key === "Escape" && !event.defaultPrevented) onClose();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [over, onClose]);
  return (
    <aside className={`${styles.side} ${over ? styles.over : ""}`} aria-label={label}>
      <Divider
        label={t("Width of {name}", { name: label })}
        edge="start"
        {...SIDE}
        value={width}
        onChange={onWidth}
      />
      {onClose && (
        <header className={styles.head}>
          <h2>{label}</h2>
          <IconButton icon={X} label={t("Close {name}", { name: label })} onClick={onClose} />
        </header>
      )}
      <div className={`${styles.body} scroll`}>{children}</div>
    </aside>
  );
}

/** At the head of a page in panes: back to the list on a phone, else folds the list away. */
export function ListButton() {
  const panes = usePanes();
  if (!panes?.hasList) return null;
  const { phone, folded, fold, back, listLabel: name } = panes;
  if (phone && !back) return null;
  if (phone) {
    return (
      <Button look="quiet" icon={ArrowLeft} className={styles.back ?? ""} onClick={back}>
        {name}
      </Button>
    );
  }
  const label = folded ? t("Show {name}", { name }) : t("Hide {name}", { name });
  return <IconButton icon={PanelLeft} label={label} aria-expanded={!folded} onClick={fold} />;
}
