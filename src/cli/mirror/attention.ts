// The mirrors that wait for their user, for `status` and the home screen.

import { StoreError } from '../../errors.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { Context } from '../call/command.ts'
import type { Attention } from '../store/attention.ts'
import { countText } from '../text/words.ts'
import type { Mirror, PassNotes } from './mirror-state.ts'
import { mirrorFiles } from './mirrors.ts'

export function attentionOfMirrors(context: Context, store: MemoryStore): readonly Attention[] {
  const files = mirrorFiles(context, store.id)
  try {
    const active = files.list().filter(({ isPaused }) => !isPaused)
    return active.flatMap((mirror) => attentionOf(mirror, files.findState(mirror.id)?.notes))
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    return [{ kind: 'mirrors_damaged', text: error.message, command: 'gitlocket mirror list' }]
  }
}

function attentionOf({ directory }: Mirror, notes: PassNotes | undefined): readonly Attention[] {
  const { problem, deletions = [], unreviewed = [] } = notes ?? {}
  const lost = countText(deletions.length, 'file', 'files')
  const texts = countText(unreviewed.length, 'text', 'texts')
  const found: Attention[] = []
  if (problem !== undefined) {
    const text = `${directory} is not mirrored: ${problem}`
    found.push({ kind: 'mirror_stopped', text, command: 'gitlocket mirror list' })
  }
  if (deletions.length > 0) {
    const command = `gitlocket mirror confirm ${directory}`
    found.push({ kind: 'mirror_deletions', text: `${directory} lost ${lost}`, command })
  }
  if (unreviewed.length > 0) {
    const command = `gitlocket mirror review ${directory}`
    const text = `${texts} of other devices for ${directory}`
    found.push({ kind: 'mirror_unreviewed', text, command })
  }
  return found
}
