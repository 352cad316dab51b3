// The memories that a restore, a rollback or an undo does not change, and why.

import type { JSX } from 'preact'
import type { RevertPlan } from '../../../../api/console/contract.ts'
import { addressOf } from '../../core/address.ts'
import { Slices } from '../../parts/slices.tsx'

type Left = RevertPlan['left'][number]

const REASONS: Readonly<Record<Left['reason'], string>> = {
  overlap: 'Others changed the same lines later. Their edits cannot be told from what goes.',
  redacted: 'A text that this needs was redacted: it is erased.',
  path_taken: 'Another memory is at, above or below this path. Move or delete that one first.',
}

export function LeftAlone({ left }: { readonly left: readonly Left[] }): JSX.Element | null {
  if (left.length === 0) return null
  return (
    <section>
      <h2>
        Left alone <span class="dim">{left.length}</span>
      </h2>
      <Slices label="Left alone" rows={left}>
        {(rows) => (
          <div class="wide-list" tabIndex={0} role="region" aria-label="What is left alone">
            <table class="list">
              <thead>
                <tr>
                  <th scope="col">Memory</th>
                  <th scope="col">Why</th>
                </tr>
              </thead>
              <tbody>
                {rows.map(({ memoryId, path, reason }) => (
                  <tr key={memoryId}>
                    <td>
                      <a href={addressOf.memory(memoryId)}>{path ?? memoryId}</a>
                    </td>
                    <td>{REASONS[reason]}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Slices>
    </section>
  )
}
