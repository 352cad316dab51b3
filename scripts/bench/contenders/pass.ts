// pass, the standard password manager of Unix: GnuPG and a git commit per change.

import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { NewNote } from '../commands.ts'
import { findVersion, run } from '../machine.ts'
import type { Contender, ContenderKind } from './contender.ts'
import { writeNote } from './git-commit.ts'
import { type Notes, runOn } from './notes.ts'

const user = 'bench@localhost'

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
  const [home, store] = [join(directory, 'gnupg'), join(directory, 'store')]
  const env = { GNUPGHOME: home, PASSWORD_STORE_DIR: store }
  const call = (program: string, args: readonly string[], input = '') =>
    run(program, args, { cwd: directory, env, input }).toString()
  mkdirSync(home, { mode: 0o700 })
  const key = ['--batch', '--pinentry-mode', 'loopback', '--passphrase', '']
  call('gpg', [...key, '--quick-generate-key', user, 'future-default'])
  call('pass', ['init', user])
  call('pass', ['git', 'init'])
  /** One process for all notes; by `pass insert` it would take a minute. */
  const fill = (notes: Iterable<NewNote>) => {
    const files = [...notes].map(({ path, text }) => {
      writeNote(store, path, text)
      return join(store, path)
    })
    call('gpg', ['--batch', '--recipient', user, '--encrypt-files', ...files])
    for (const file of files) rmSync(file)
    call('pass', ['git', 'add', '--all'])
    call('pass', ['git', 'commit', '--quiet', '--message', 'fill'])
  }
  const notes: Notes = {
    read: (path) => call('pass', ['show', path]),
    write: (path, text) => call('pass', ['insert', '--multiline', '--force', path], text),
    remove: (path) => call('pass', ['rm', '--force', path]),
    move: (from, to) => call('pass', ['mv', '--force', from, to]),
  }
  return {
    fill,
    run: (command) => runOn(notes, command),
    close: () => call('gpgconf', ['--kill', 'gpg-agent']),
  }
}
