// The origin of lines: who wrote them where, when and why; the moment itself; and the undo of the
// lines, as a difference first.

import { useEffect, useRef, useState } from 'preact/hooks'
import type { Blame } from '../../../../operations/console/contract.ts'
import { addressOf } from '../../core/address.ts'
import { ask } from '../../core/ask.ts'
import { mayWrite, notice } from '../../core/state.ts'
import { useAction } from '../../core/use-action.ts'
import { Question } from '../../parts/dialog.tsx'
import { DiffTable } from '../../parts/diff-table.tsx'
import { Failure, Writer, writerOf } from '../../parts/labels.tsx'
import { absoluteTime } from '../../parts/times.ts'
import { withoutLines } from './undo-line.ts'

interface OriginPanelProps {
  readonly memoryId: string
  readonly title: string
  /** In pixels. */
  readonly top: number
  readonly version: Blame['versions'][number]
  readonly lines: Blame['lines']
  readonly onClose: () => void
}

export function OriginPanel(props: OriginPanelProps) {
  const { title, top, version, lines, onClose } = props
  const box = useRef<HTMLElement>(null)
  const [plan, setPlan] = useState<UndoneLine | 'not possible'>()
  const { reason, createdAt, deviceName } = version
  useEffect(() => {
    const before = document.activeElement
    box.current?.focus()
    return () => {
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return (
    <section
      class="origin-panel"
      aria-label={`Origin: ${title}`}
      tabIndex={-1}
      ref={box}
      style={{ top: `${top}px` }}
      onKeyDown={(event) => {
        if (event.key === 'Escape') onClose()
      }}
    >
      <p>
        <b>{title}</b> by <Writer version={version} />
        {lines.some(({ uncertain }) => uncertain) && <span class="tag">or older</span>}
      </p>
      <p class="dim">
        {deviceName !== '' && `${deviceName} · `}
        {absoluteTime(createdAt)}
      </p>
      {reason !== undefined && (
        <p>
          <q>{reason}</q>
        </p>
      )}
      {plan === 'not possible' && (
        <p role="status">
          Later edits touch the same lines, or a text was erased: edit the memory instead.
        </p>
      )}
      <Actions {...props} onPlan={setPlan} />
      {plan !== undefined && plan !== 'not possible' && (
        <UndoLines {...props} plan={plan} onCancel={() => setPlan(undefined)} />
      )}
    </section>
  )
}

interface ActionsProps extends OriginPanelProps {
  readonly onPlan: (plan: UndoneLine | 'not possible') => void
}

function Actions({ memoryId, version, lines, onClose, onPlan }: ActionsProps) {
  const { versionId, commit } = version
  const { run, isRunning, failure } = useAction<void>()
  const look = async (): Promise<void> => {
    const texts = lines.map(({ line }) => line)
    onPlan((await planUndoOf(memoryId, versionId, texts)) ?? 'not possible')
  }
  return (
    <>
      <Failure failure={failure} />
      <p class="acts">
        {mayWrite.value && (
          <button type="button" aria-disabled={isRunning} onClick={() => void run(look)}>
            Undo {lines.length === 1 ? 'this line' : 'these lines'}…
          </button>
        )}
        <a class="button" href={addressOf.memory(memoryId, { at: commit })}>
          Show that moment
        </a>
        <a class="button" href={addressOf.memory(memoryId, { tab: 'changes', to: versionId })}>
          Changes
        </a>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </p>
    </>
  )
}

interface UndoLinesProps extends OriginPanelProps {
  readonly plan: UndoneLine
  readonly onCancel: () => void
}

function UndoLines(props: UndoLinesProps) {
  const { memoryId, title, version, plan, onCancel, onClose } = props
  const { before, after, sha256: expectedSha256 } = plan
  const what = `undo ${title.toLowerCase()}`
  const undo = async (): Promise<void> => {
    const reason = `${what} by ${writerOf(version)}`
    await ask('memory.update', { memoryId, content: after, expectedSha256, reason })
    notice.value = 'Undone'
    onClose()
  }
  return (
    <Question
      title={`Undo ${title.toLowerCase()}`}
      verb="Undo"
      isReady={before !== after}
      onClose={onCancel}
      onRun={undo}
    >
      <DiffTable before={before} after={after} label="The memory now and then" />
    </Question>
  )
}

interface UndoneLine {
  /** The present text, and the text without the line. */
  readonly before: string
  readonly after: string
  readonly sha256: string
}

/** Undefined if later edits touch the same lines, or if a text that it needs was erased. */
async function planUndoOf(
  memoryId: string,
  versionId: string,
  lines: readonly string[],
): Promise<UndoneLine | undefined> {
  const { content, baseVersionId } = await ask('version.show', { versionId })
  const base =
    baseVersionId === undefined
      ? { content: '' }
      : await ask('version.show', { versionId: baseVersionId })
  if (content === undefined || base.content === undefined) return undefined
  const undone = withoutLines(base.content, content, lines)
  if (undone === undefined) return undefined
  const merged = await ask('memory.merge', { memoryId, base: content, content: undone })
  const { theirs, parts } = merged
  const texts = parts.map((part) => ('text' in part ? part.text : undefined))
  if (texts.includes(undefined)) return undefined
  return { before: theirs.content, after: texts.join(''), sha256: theirs.sha256 }
}
