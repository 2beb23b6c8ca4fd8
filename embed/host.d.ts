/** What a frame says, as the detail of the event `bufferscope` on its `<iframe>`. */
export type FrameMessage = { bufferscope: 1 } & (
  | { type: "ready"; state: string; version: string }
  | { type: "stateChanged"; state: string }
  | { type: "resized"; height: number }
  | { type: "error"; message: string }
  | { type: "state"; id: string | number; state: string }
);
/** Sends a frame of the class `bufferscope` to a state. */
export function setState(frame: HTMLIFrameElement, state: string): void;
/** Asks it for its state. */
export function getState(frame: HTMLIFrameElement): Promise<string>;

declare global {
  interface HTMLElementEventMap {
    bufferscope: CustomEvent<FrameMessage>;
  }
}
