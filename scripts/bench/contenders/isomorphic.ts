// isomorphic-git in the way its documentation shows: write the file, add it, commit.

import * as fs from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import * as git from 'isomorphic-git'
import type { Contender, ContenderKind } from './contender.ts'

export const isomorphic: ContenderKind = {
  name: 'isomorphic-git add + commit',
  pace: 'slow',
  every: 4,
  remark: 'plaintext, not synced to disk; grows with the number of files',
  start: startIsomorphic,
}

async function startIsomorphic(dir: string): Promise<Contender> {
  await git.init({ fs, dir, defaultBranch: 'main' })
  const author = { name: 'Bench', email: 'bench@localhost' }
  const commit = async (filepath: string, text: string) => {
    await mkdir(dirname(join(dir, filepath)), { recursive: true })
    await writeFile(join(dir, filepath), text)
    await git.add({ fs, dir, filepath })
    await git.commit({ fs, dir, message: 'change', author })
  }
  return {
    create: ({ path, text }) => commit(path, text),
    replace: async ({ path, from, to }) => {
      const text = await readFile(join(dir, path), 'utf8')
      await commit(path, text.replace(from, to))
    },
    close() {},
  }
}
