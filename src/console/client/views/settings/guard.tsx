// The guard: whether texts with what seems to be a secret are refused, and which memories it would
// refuse now.

import type { JSX } from 'preact'
import type { ResultOf } from '../../../../api/console/contract.ts'
import { addressOf } from '../../core/address.ts'
import { ask } from '../../core/ask.ts'
import { mayManage } from '../../core/state.ts'
import { useAction } from '../../core/use-action.ts'
import { Failure } from '../../parts/failure.tsx'
import { ProgressBar } from '../../parts/labels.tsx'
import { Slices } from '../../parts/slices.tsx'
import { countOf } from '../../parts/times.ts'

export function Guard({ isOn }: { readonly isOn: boolean }): JSX.Element {
  const turn = useAction<object>()
  const check = useAction<ResultOf<'guard.check'>>()
  const found = check.result?.findings
  return (
    <section>
      <h2>Guard</h2>
      <p>
        {isOn
          ? 'On: texts with what seems to be a secret are refused, on every device.'
          : 'Off: texts are stored whatever is in them.'}
      </p>
      <p>
        {mayManage.value && (
          <button
            type="button"
            aria-disabled={turn.isRunning}
            onClick={() => void turn.run(() => ask('settings.update', { guard: !isOn }))}
          >
            {isOn ? 'Turn the guard off' : 'Turn the guard on'}
          </button>
        )}{' '}
        <button
          type="button"
          aria-disabled={check.isRunning}
          onClick={() => void check.run((options) => ask('guard.check', {}, options))}
        >
          What would it refuse now?
        </button>
      </p>
      {turn.failure !== undefined && <Failure failure={turn.failure} />}
      {check.failure !== undefined && <Failure failure={check.failure} />}
      <ProgressBar progress={check.progress} />
      <p role="status">
        {check.isRunning && 'Reading all memories…'}
        {found !== undefined &&
          (found.length === 0 ? 'Nothing.' : `${countOf(found.length, 'finding')}:`)}
      </p>
      {found !== undefined && found.length > 0 && (
        <Slices label="Findings" rows={found}>
          {(rows) => (
            <ul>
              {rows.map(({ memoryId, path, rule, line }) => (
                <li key={`${memoryId} ${rule} ${line}`}>
                  <a href={addressOf.memory(memoryId, { tab: 'source' })}>{path}</a>: {rule}
                  {line !== undefined && `, line ${line}`}
                </li>
              ))}
            </ul>
          )}
        </Slices>
      )}
    </section>
  )
}
