// The setting `autoMemoryDirectory` of an organization: in files of the system, which the user
// reads and may not write.

import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findNamedMemory } from '../../../src/cli/import/claude-code.ts'
import { temporaryDirectory } from '../../support/temporary.ts'

test('the settings of an organization come before all others, later names first', () => {
  const root = temporaryDirectory()
  const policy = join(root, 'policy')
  const names = (file: string, name: string): void => {
    mkdirSync(join(root, name), { recursive: true })
    const path = join(root, file)
    writeFileSync(path, JSON.stringify({ autoMemoryDirectory: join(root, name) }))
    chmodSync(path, 0o444)
  }
  for (const directory of ['policy/managed-settings.d', 'user', 'app/.claude']) {
    mkdirSync(join(root, directory), { recursive: true })
  }
  chmodSync(policy, 0o755)
  const environment = {
    claudeDirectory: join(root, 'user'),
    claudePolicyDirectory: policy,
    homeDirectory: root,
  }
  const notices: string[] = []
  const found = (): string | undefined => {
    return findNamedMemory({ environment, notices }, [join(root, 'app')])
  }
  names('user/settings.json', 'of-the-user')
  names('app/.claude/settings.local.json', 'of-the-project')
  expect(found()).toBe(join(root, 'of-the-project'))
  names('policy/managed-settings.json', 'of-all')
  expect(found()).toBe(join(root, 'of-all'))
  names('policy/managed-settings.d/20-team.json', 'of-the-team')
  names('policy/managed-settings.d/10-site.json', 'of-the-site')
  names('policy/managed-settings.d/.30-draft.json', 'of-a-draft')
  expect(found()).toBe(join(root, 'of-the-team'))
  expect(notices).toEqual([])
})
