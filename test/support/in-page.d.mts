// What `in-page.mjs` gives to tests.

export function follow(path: string): void
export function isSettled(): boolean
export function hideIds(): void
export function sheetOf(sheet: {
  readonly width: number
  readonly height: number
  readonly shots: readonly {
    readonly data: string
    readonly left: number
    readonly top: number
  }[]
}): Promise<string>
export function differencesOf(compared: {
  readonly sheets: readonly [kept: string, made: string]
  readonly parts: readonly {
    readonly left: number
    readonly top: number
    readonly width: number
    readonly height: number
  }[]
  readonly contrast: number
}): Promise<readonly number[]>
export function widthOfPage(): number
export function placesInPage(): { readonly bar: number; readonly content: number }
export function countNodes(): number
export function focusedTag(): string | undefined
export function isFocused(selector: string): boolean
export function violations(): Promise<readonly Violation[]>
export function watchPolicy(): void
export function takeMarkdown(): {
  readonly elements: readonly string[]
  readonly attributes: readonly string[]
  readonly links: readonly { readonly protocol: string; readonly isSaid: boolean }[]
}

export interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[]
}
export function keptByPage(): string
export function timeOfFilter(text: string): Promise<number>
export function countTrees(): number
export function countPrints(): void
export function hasPrinted(): boolean
export function copiedText(): Promise<string>
