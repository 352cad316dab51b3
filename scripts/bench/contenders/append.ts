// The floor: the bytes of the new text, or the name of what is gone, appended to one file and
// synced. Nothing that answers durably can do less.

import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Contender, ContenderKind } from './contender.ts'
import { type Notes, runOn } from './notes.ts'

export const append: ContenderKind = {
  name: "fdatasync'd append",
  pace: 'fast',
  every: 1,
  remark: 'the same bytes at the end of one file, synchronous calls; 1 by definition',
  start: async (directory) => startAppend(directory),
}

function startAppend(directory: string): Contender {
  const fd = openSync(join(directory, 'log'), 'a', 0o600)
  const texts = new Map<string, string>()
  const write = (text: string) => {
    writeSync(fd, text)
    fdatasyncSync(fd)
  }
  const notes: Notes = {
    read: (path) => texts.get(path) ?? '',
    write(path, text) {
      texts.set(path, text)
      write(text)
    },
    remove(path) {
      texts.delete(path)
      write(path)
    },
    move(from, to) {
      texts.set(to, texts.get(from) ?? '')
      texts.delete(from)
      write(`${from}\n${to}\n`)
    },
  }
  return {
    fill(filled) {
      for (const { path, text } of filled) texts.set(path, text)
    },
    run: (command) => runOn(notes, command),
    close: () => closeSync(fd),
  }
}
