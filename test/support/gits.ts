// The gits to test against: the one that is installed, and those of Debian's other suites, which
// `.ci/gits.sh` fetches; GITS names the directory that holds them. One that is not there is skipped
// as a missing tool is.

import { existsSync } from 'node:fs'
import { cleanEnvironment } from './temporary.ts'
import type { Requirement } from './tools.ts'

export interface StockGit extends Requirement {
  readonly name: string
  /** In which `git` is this one. */
  readonly environment: NodeJS.ProcessEnv
}

const directory = process.env['GITS'] ?? ''

export const installedGit: StockGit = {
  name: 'the installed git',
  missing: false,
  note: '',
  environment: cleanEnvironment(),
}

export const otherGits: readonly StockGit[] = ['bullseye', 'trixie', 'sid'].map(gitOfSuite)

function gitOfSuite(suite: string): StockGit {
  const programs = `${directory}/${suite}/bin`
  const environment = cleanEnvironment()
  const missing = directory === '' || !existsSync(`${programs}/git`)
  return {
    name: `the git of ${suite}`,
    missing,
    note: missing ? ' (skipped: install it with .ci/gits.sh)' : '',
    environment: { ...environment, PATH: `${programs}:${environment['PATH'] ?? ''}` },
  }
}
