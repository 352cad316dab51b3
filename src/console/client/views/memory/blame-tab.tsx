// Which version each line of a memory came from.

import type { JSX } from 'preact'
import type { Blame } from '../../../../api/console/contract.ts'
import { addressOf, atNow } from '../../core/address.ts'
import { useAsk } from '../../core/use-ask.ts'
import { Failure } from '../../parts/failure.tsx'
import { Slices } from '../../parts/slices.tsx'
import { absoluteTime } from '../../parts/times.ts'

export function BlameTab({ memoryId }: { readonly memoryId: string }): JSX.Element {
  const { data, failure } = useAsk('memory.blame', { memoryId, at: atNow.value })
  if (failure !== undefined) return <Failure failure={failure} />
  if (data === undefined) return <p role="status">Reading…</p>
  return <Lines blame={data} memoryId={memoryId} />
}

function Lines({ blame, memoryId }: { readonly blame: Blame; readonly memoryId: string }) {
  const numbered = blame.lines.map((line, index) => ({ ...line, index }))
  return (
    <Slices label="Lines" rows={numbered}>
      {(rows) => (
        <div class="diffwrap" tabIndex={0} role="region" aria-label="Origin of each line">
          <table class="source blame">
            <caption class="sr">Each line with the version that it came from.</caption>
            <tbody>
              {rows.map(({ index, line, version, uncertain }) => {
                const isSame = index > 0 && blame.lines[index - 1]?.version === version
                const origin = isSame && index !== rows[0]?.index ? undefined : version
                return (
                  <tr key={index} class={isSame ? undefined : 'first'}>
                    <td class="origin">
                      {origin !== undefined && (
                        <Origin blame={blame} index={origin} memoryId={memoryId} />
                      )}
                      {uncertain && <span class="tag">or older</span>}
                    </td>
                    <td class="ln">{index + 1}</td>
                    <td>{line}</td>
                  </tr>
                )
              })}
            </tbody>
          </table>
        </div>
      )}
    </Slices>
  )
}

interface OriginProps {
  readonly blame: Blame
  readonly index: number
  readonly memoryId: string
}

function Origin({ blame, index, memoryId }: OriginProps): JSX.Element | null {
  const version = blame.versions[index]
  if (version === undefined) return null
  const { versionId, session, createdBy, createdAt } = version
  return (
    <a href={addressOf.memory(memoryId, { tab: 'changes', to: versionId })}>
      {session ?? createdBy?.id ?? 'unknown'}, {absoluteTime(createdAt)}
    </a>
  )
}
