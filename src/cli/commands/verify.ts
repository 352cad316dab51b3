// `verify`: verifies the whole history, and searches for residue of redacted versions.

import type { MemoryStore } from '../../store/memory-store.ts'
import { type Answer, type Command, type Context, type Input, usageError } from '../call/command.ts'
import { readCertificateFile } from '../machine/files.ts'
import { withStore } from '../store/open-store.ts'
import { residueExitCode, residueJson, residueLines, searchResidue } from '../store/residue.ts'
import { withProgress } from '../terminal/progress.ts'
import { countText } from '../text/words.ts'

export const commands: readonly Command[] = [
  {
    name: 'verify',
    summary: 'Verify every commit from the first one on',
    options: {
      '--absence': 'Also search everything stored for redacted versions',
      '--certificate <file>':
        'With --absence: also for the objects of this certificate, once it is verified',
      '--accept-rolled-back': 'Accept an older state that was restored on purpose',
    },
    notes: [
      '--absence opens every object, reachable or not, every journal and every cache, and exits ' +
        'with 11 if something is left of a redacted version, or if a version was written on one ' +
        'by a device that did not know of the redaction and may hold its text.',
    ],
    run: verify,
  },
]

function verify(context: Context, input: Input): Promise<Answer> {
  const acceptRolledBack = input.flag('accept-rolled-back')
  const certificate = certificateOf(input)
  const work = async (store: MemoryStore): Promise<Answer> => {
    const report = await withProgress(context, 'Verifying', (options) =>
      store.maintenance.verify(options),
    )
    const { commits, versions, memories, head } = report
    const absence = input.flag('absence')
      ? await searchResidue(context, store, certificate)
      : undefined
    const verified =
      `Verified ${countText(commits, 'commit', 'commits')}, ` +
      `${countText(versions, 'version', 'versions')} and ` +
      `${countText(memories, 'memory', 'memories')}; the head is ${head}`
    const json = { verified: true, commits, versions, memories, head }
    if (absence === undefined) return { text: `${verified}\n`, json }
    return {
      text: [verified, ...residueLines(context, absence), ''].join('\n'),
      json: { ...json, absence: residueJson(absence) },
      exitCode: residueExitCode(absence),
    }
  }
  return withStore(context, work, { acceptRolledBack })
}

/** The text of the certificate of --absence. */
function certificateOf(input: Input): string | undefined {
  const file = input.text('certificate')
  if (file === undefined) return undefined
  if (input.flag('absence')) return readCertificateFile(file)
  throw usageError('--certificate needs --absence', 'verify')
}
