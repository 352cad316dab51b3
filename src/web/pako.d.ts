// The parts of pako that are used here.

declare module 'pako/lib/inflate.js' {
  export class Inflate {
    constructor(options: { chunkSize: number; windowBits: number })
    readonly err: number
    readonly ended: boolean
    readonly strm: { readonly next_in: number }
    onData: (chunk: Uint8Array) => void
    push(data: Uint8Array, isLast: boolean): boolean
  }
}
