// In place of the files that need a disk, sockets or processes: a store in RAM brings its own disk,
// and its remote its own wire.

function absent(): never {
  throw new Error('this platform has no disk and no processes')
}

export const systemDisk: object = new Proxy({}, { get: absent })
export const createDiskObjectStore: () => never = absent
export const ProcessWire: { readonly open: () => never } = { open: absent }
export const HttpWire: { readonly open: () => never } = { open: absent }

/** Files in RAM belong to their program. */
export function findForeignPlace(): undefined {
  return undefined
}

export function refuseForeignRoot(): void {
  // Nothing to refuse.
}

export const foreignSentence: string = ''
