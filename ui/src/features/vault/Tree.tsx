// The pages as a tree: only the rows in view exist. It is walked with the keys of every tree, and rearranged by
// dragging, by cutting names anew in place, or from the menu of a row.
import {
  dragAndDropFeature,
  hotkeysCoreFeature,
  type ItemInstance,
  renamingFeature,
  selectionFeature,
  syncDataLoaderFeature,
  type TreeInstance,
} from "@headless-tree/core";
import { useTree } from "@headless-tree/react";
import type { Virtualizer } from "@tanstack/react-virtual";
import {
  type KeyboardEvent,
  type MouseEvent,
  type RefObject,
  useCallback,
  useEffect,
  useMemo,
  useRef,
} from "react";
import { t } from "../../i18n";
import { type MenuItem, useContextMenu } from "../../kit/Popover";
import { useMedia } from "../../kit/pieces";
import { useRows } from "../../kit/useRows";
import { useKey } from "../../services/useKey";
import { Selected } from "./Selected";
import styles from "./Tree.module.css";
import { TreeRow } from "./TreeRow";
import { above, folderOf, nodesOf, ROOT, type TreeNode, type treeOf } from "./treeRows";
import type { TreeActions } from "./useTreeActions";

const ROW_PX = 32;
const TOUCH_PX = 44;
const TYPED_MS = 700;

export type VaultTree = TreeInstance<TreeNode>;
export type VaultItem = ItemInstance<TreeNode>;

type TreeProps = {
  root: ReturnType<typeof treeOf>;
  current: string | null;
  actions: TreeActions;
  onOpen: (path: string) => void;
};

function useVaultTree(
  { root, current, actions }: TreeProps,
  list: RefObject<Virtualizer<HTMLDivElement, Element> | null>,
): VaultTree {
  const nodes = useMemo(() => nodesOf(root), [root]);
  const known = useRef(nodes);
  known.current = nodes;
  const tree = useTree<TreeNode>({
    rootItemId: ROOT,
    initialState: { expandedItems: current ? above(current) : [], selectedItems: [] },
    getItemName: (item) => item.getItemData().name,
    isItemFolder: (item) => item.getItemData().isFolder,
    dataLoader: {
      getItem: (id) => known.current.get(id) ?? { ...GONE, path: id },
      getChildren: (id) => [...(known.current.get(id)?.children ?? [])],
    },
    scrollToItem: (item) => list.current?.scrollToIndex(item.getItemMeta().index),
    canReorder: false,
    canDrop: (items, { item }) =>
      items.some((one) => folderOf(one.getId()) !== (item.getId() === ROOT ? "" : item.getId())),
    onDrop: (items, { item }) =>
      actions.into(
        items.map((one) => one.getId()),
        item.getId() === ROOT ? "" : item.getId(),
      ),
    onRename: (item, name) => void actions.rename(item.getItemData(), name),
    features: [
      syncDataLoaderFeature,
      selectionFeature,
      hotkeysCoreFeature,
      dragAndDropFeature,
      renamingFeature,
    ],
  });
  useEffect(() => {
    const { focusedItem, selectedItems } = tree.getState();
    if (focusedItem && !nodes.has(focusedItem)) tree.applySubStateUpdate("focusedItem", null);
    const left = selectedItems.filter((id) => nodes.has(id));
    if (left.length < selectedItems.length) tree.setSelectedItems(left);
    tree.rebuildTree();
  }, [nodes, tree]);
  return tree;
}

const GONE: Omit<TreeNode, "path"> = { name: "", isFolder: false, problem: null, children: [] };

/** Only another page moves the tree, once: it may have no row yet, as its folder opens or it is made. */
function useReached(tree: VaultTree, current: string | null): void {
  const reached = useRef<string | null>(null);
  const items = tree.getItems();
  useEffect(() => {
    if (!current || reached.current === current) return;
    const { expandedItems } = tree.getState();
    const closed = above(current).filter((folder) => !expandedItems.includes(folder));
    if (closed.length) {
      tree.applySubStateUpdate("expandedItems", (now) => [...now, ...closed]);
      tree.rebuildTree();
      return;
    }
    const item = items.find((one) => one.getId() === current);
    if (!item) return;
    reached.current = current;
    tree.setSelectedItems([current]);
    item.setFocused();
    tree.getConfig().scrollToItem?.(item);
  }, [current, items, tree]);
  useEffect(() => {
    if (!current) reached.current = null;
  }, [current]);
}

/** Letters go to the next row whose name begins with them. */
function useTyped(tree: VaultTree) {
  const typed = useRef({ text: "", at: 0 });
  return (key: string, now: number): boolean => {
    if (key.length !== 1 || key === " ") return false;
    const { text, at } = typed.current;
    const wanted = (now - at < TYPED_MS ? text : "") + key.toLowerCase();
    typed.current = { text: wanted, at: now };
    const items = tree.getItems();
    const from = tree.getFocusedItem()?.getItemMeta().index ?? 0;
    const start = wanted.length > 1 ? from : from + 1;
    const order = [...items.slice(start), ...items.slice(0, start)];
    const found = order.find((item) => item.getItemName().toLowerCase().startsWith(wanted));
    found?.setFocused();
    if (found) tree.updateDomFocus();
    return true;
  };
}

const keyOf = (item: VaultItem) => item.getId();

export function Tree(props: TreeProps) {
  const { current, actions, onOpen } = props;
  const box = useRef<HTMLDivElement>(null);
  const touch = useMedia("(pointer: coarse)");
  const size = touch ? TOUCH_PX : ROW_PX;
  const sizeOf = useCallback(() => size, [size]);
  const rows = useRef<Virtualizer<HTMLDivElement, Element> | null>(null);
  const tree = useVaultTree(props, rows);
  const items = tree.getItems();
  const list = useRows({ rows: items, box, keyOf, sizeOf, overscan: 12 });
  rows.current = list;
  useReached(tree, current);
  const chosen = () => tree.getState().selectedItems;
  const asked = useRef<VaultItem | null>(null);
  const { onContextMenu, menu } = useContextMenu(t("Page or folder"), () =>
    asked.current ? menuOf(asked.current, chosen(), actions) : [],
  );
  const openMenu = (event: MouseEvent<HTMLElement>, item: VaultItem) => {
    asked.current = item;
    item.setFocused();
    onContextMenu(event);
  };
  const act = (item: VaultItem) => {
    if (!item.isFolder()) onOpen(item.getId());
    else if (item.isExpanded()) item.collapse();
    else item.expand();
  };
  const typeAhead = useTyped(tree);
  const press = (event: KeyboardEvent) => {
    const item = tree.getFocusedItem();
    if (event.target instanceof HTMLInputElement || !item) return;
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (isPlain && (event.key === "Enter" || event.key === " ")) act(item);
    else if (isPlain && event.key === "Delete") {
      const all = chosen();
      actions.remove(all.includes(item.getId()) ? all : [item.getId()]);
    } else if (!isPlain || event.shiftKey || !typeAhead(event.key, event.timeStamp)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  const step = (by: number) => {
    const isHere = box.current?.contains(document.activeElement);
    if (isHere && by > 0) tree.focusNextItem();
    if (isHere && by < 0) tree.focusPreviousItem();
    tree.updateDomFocus();
  };
  useKey("down", () => step(1));
  useKey("up", () => step(-1));
  return (
    <>
      <Selected tree={tree} actions={actions} />
      <div
        {...tree.getContainerProps(t("Pages"))}
        role="tree"
        ref={(element) => {
          box.current = element;
          tree.registerElement(element);
        }}
        aria-multiselectable
        className={`${styles.tree} scroll`}
        onKeyDown={press}
      >
        <div style={{ height: list.getTotalSize() }}>
          {list.getVirtualItems().map(({ index, key, start }) => {
            const item = items[index];
            return (
              item && (
                <TreeRow
                  key={key}
                  item={item}
                  place={{ height: size, translate: `0 ${start}px` }}
                  isCurrent={item.getId() === current}
                  onOpen={onOpen}
                  onMenu={openMenu}
                />
              )
            );
          })}
        </div>
      </div>
      {menu}
    </>
  );
}

/** What can be done with a row, or with all that are chosen if it is one of them. */
function menuOf(item: VaultItem, chosen: readonly string[], actions: TreeActions): MenuItem[] {
  const path = item.getId();
  const all = chosen.length > 1 && chosen.includes(path) ? chosen : [path];
  const folder = item.isFolder() ? path : folderOf(path);
  const many = all.length > 1;
  return [
    { label: t("New page here"), run: () => actions.ask({ kind: "page", folder }) },
    { label: t("New folder here"), run: () => actions.ask({ kind: "folder", folder }) },
    ...(many ? [] : [{ label: t("Rename"), combo: "F2", run: () => item.startRenaming() }]),
    { label: t("Move to…"), run: () => actions.ask({ kind: "move", paths: all }) },
    {
      label: many ? t("Delete {count}", { count: all.length }) : t("Delete"),
      fault: true,
      apart: true,
      run: () => actions.remove(all),
    },
  ];
}
