// The list of mutants, by area. Every entry must apply to the current code: a law of
// test/tidy.test.ts.

import { access } from './list/access.ts'
import { agents } from './list/agents.ts'
import { disk } from './list/disk.ts'
import { durability } from './list/durability.ts'
import { guard } from './list/guard.ts'
import { handlers } from './list/handlers.ts'
import { history } from './list/history.ts'
import { hosting } from './list/hosting.ts'
import { journal } from './list/journal.ts'
import { keys } from './list/keys.ts'
import { merge } from './list/merge.ts'
import { mounts } from './list/mounts.ts'
import { plainFiles } from './list/plain-files.ts'
import { purge } from './list/purge.ts'
import { redaction } from './list/redaction.ts'
import { remoteWork } from './list/remote-work.ts'
import { server } from './list/server.ts'
import { setup } from './list/setup.ts'
import { sync } from './list/sync.ts'
import { verification } from './list/verification.ts'
import type { MutatedFile } from './mutant.ts'

export const areas: Readonly<Record<string, readonly MutatedFile[]>> = {
  verification,
  access,
  keys,
  hosting,
  journal,
  disk,
  durability,
  purge,
  redaction,
  guard,
  remoteWork,
  server,
  setup,
  sync,
  merge,
  history,
  handlers,
  mounts,
  agents,
  plainFiles,
}
