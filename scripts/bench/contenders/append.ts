// The floor: the bytes of the new text, or the removed path, appended to one file and
// synced. Nothing that answers durably can do less.

import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type Keeper, type KeeperKind, type Notes, runOn } from './notes.ts'

export const append: KeeperKind = {
  name: 'synced append',
  start: async (directory) => startAppend(directory),
}

function startAppend(directory: string): Keeper {
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
