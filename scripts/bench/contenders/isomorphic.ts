// isomorphic-git in the way its documentation shows: write the file, add it, commit.

import * as fs from 'node:fs'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import * as git from 'isomorphic-git'
import type { Contender, ContenderKind } from './contender.ts'
import { commitFiles, initRepository } from './git-commit.ts'
import { type Notes, runOn } from './notes.ts'

export const isomorphic: ContenderKind = {
  name: 'isomorphic-git add + commit',
  pace: 'slow',
  every: 4,
  remark: 'plaintext, not synced to disk; grows with the number of files',
  start: async (directory) => startIsomorphic(directory),
}

function startIsomorphic(dir: string): Contender {
  initRepository(dir)
  const author = { name: 'Bench', email: 'bench@localhost' }
  const commit = () => git.commit({ fs, dir, message: 'change', author })
  const notes: Notes = {
    read: (path) => fs.readFileSync(join(dir, path), 'utf8'),
    async write(path, text) {
      await mkdir(dirname(join(dir, path)), { recursive: true })
      await writeFile(join(dir, path), text)
      await git.add({ fs, dir, filepath: path })
      await commit()
    },
    async remove(path) {
      await rm(join(dir, path))
      await git.remove({ fs, dir, filepath: path })
      await commit()
    },
    async move(from, to) {
      await mkdir(dirname(join(dir, to)), { recursive: true })
      await rename(join(dir, from), join(dir, to))
      await git.remove({ fs, dir, filepath: from })
      await git.add({ fs, dir, filepath: to })
      await commit()
    },
  }
  return {
    fill: (filled) => commitFiles(dir, filled),
    run: (command) => runOn(notes, command),
    close() {},
  }
}
