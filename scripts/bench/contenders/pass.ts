// pass, the standard password manager of Unix: GnuPG and a git commit per change.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { findVersion, run } from '../machine.ts'
import type { Contender, ContenderKind } from './contender.ts'

export const pass: ContenderKind = {
  name: 'pass',
  pace: 'slow',
  every: 2,
  remark: 'GnuPG key without a passphrase; names are not encrypted',
  start: async (directory) => {
    if (findVersion('pass') === undefined) throw new Error('apt-get install pass')
    return startPass(directory)
  },
}

function startPass(directory: string): Contender {
  const home = join(directory, 'gnupg')
  const env = { GNUPGHOME: home, PASSWORD_STORE_DIR: join(directory, 'store') }
  const call = (program: string, args: readonly string[], input = '') =>
    run(program, args, { cwd: directory, env, input }).toString()
  mkdirSync(home, { mode: 0o700 })
  const key = ['--batch', '--pinentry-mode', 'loopback', '--passphrase', '']
  call('gpg', [...key, '--quick-generate-key', 'bench@localhost', 'future-default'])
  call('pass', ['init', 'bench@localhost'])
  call('pass', ['git', 'init'])
  const insert = (path: string, text: string) => {
    call('pass', ['insert', '--multiline', '--force', path], text)
  }
  return {
    create: ({ path, text }) => insert(path, text),
    replace: ({ path, from, to }) => insert(path, call('pass', ['show', path]).replace(from, to)),
    close: () => call('gpgconf', ['--kill', 'gpg-agent']),
  }
}
