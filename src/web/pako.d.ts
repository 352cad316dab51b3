// The parts of pako that are used here.

declare module 'pako' {
  export class Inflate {
    constructor(options: { chunkSize: number; windowBits: number })
    readonly err: number
    readonly ended: boolean
    readonly strm: { readonly next_in: number }
    onData: (chunk: Uint8Array) => void
    push(data: Uint8Array, isLast: boolean): boolean
  }
  export function deflate(
    data: Uint8Array,
    options: { level: 0 | 1; chunkSize: number },
  ): Uint8Array
}
