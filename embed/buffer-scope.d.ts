/** An exhibit of XLA's buffer assignment: live ranges, the heap they are packed into, and what a pulled end does. */
export class BufferScope extends HTMLElement {
  /** The version of the element. */
  static readonly version: string;
  /** The ids of the modules that come with the element. */
  static modules(): Promise<string[]>;
  /** `drag` (live ranges and heap), `ranges`, `heap`, `memory`, or a figure of the reading page, such as `clock`. */
  exhibit: string;
  /** The id of a module that comes with the element. */
  module: string;
  /** HLO text in place of it. */
  get moduleText(): string | undefined;
  set moduleText(text: string | null | undefined);
  /** What the reader did, as it stands in a link; "" while all is as it first was. */
  state: string;
  /** Is the exhibit alive? */
  readonly isReady: boolean;
  /** Starts the exhibit now, near the screen or not. */
  wake(): Promise<void>;

  addEventListener<K extends keyof BufferScopeEvents>(
    type: K,
    listener: (this: BufferScope, event: BufferScopeEvents[K]) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener<K extends keyof HTMLElementEventMap>(
    type: K,
    listener: (this: BufferScope, event: HTMLElementEventMap[K]) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(type: string, listener: EventListenerOrEventListenerObject, options?: boolean | AddEventListenerOptions): void;
}

export interface BufferScopeEvents {
  /** The exhibit is alive. */
  ready: CustomEvent<{ state: string; version: string }>;
  /** The reader, or the page, changed something. */
  statechange: CustomEvent<{ state: string }>;
  /** What was asked for cannot be read or fetched. */
  error: CustomEvent<{ message: string }>;
}

declare global {
  interface HTMLElementTagNameMap {
    "buffer-scope": BufferScope;
  }
}
