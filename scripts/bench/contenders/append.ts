// The floor: the bytes of the command itself, appended to one file and synced. Nothing that answers
// durably can do less.

import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Contender, ContenderKind } from './contender.ts'

export const append: ContenderKind = {
  name: "fdatasync'd append",
  pace: 'fast',
  every: 1,
  remark: 'the same bytes at the end of one file, synchronous calls; 1 by definition',
  start: async (directory) => startAppend(directory),
}

function startAppend(directory: string): Contender {
  const fd = openSync(join(directory, 'log'), 'a', 0o600)
  let last = ''
  const write = (text: string) => {
    writeSync(fd, text)
    fdatasyncSync(fd)
  }
  return {
    create({ text }) {
      last = text
      write(text)
    },
    replace({ from, to }) {
      last = last.replace(from, to)
      write(last)
    },
    close: () => closeSync(fd),
  }
}
