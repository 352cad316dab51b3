// Erasing in four steps: choose, look, type the number to erase, proof. The selection is in RAM
// alone; the address may name a memory or a version to begin with.

import { useLocation } from 'preact-iso'
import { useState } from 'preact/hooks'
import type { ErasePlan, EraseResult, Selection } from '../../../../operations/console/contract.ts'
import { ask } from '../../core/ask.ts'
import { mayManage } from '../../core/state.ts'
import { useAction } from '../../core/use-action.ts'
import { Failure, ProgressBar } from '../../parts/labels.tsx'
import { ChooseStep } from './choose-step.tsx'
import { EraseStep } from './erase-step.tsx'
import { LookStep } from './look-step.tsx'
import { ProofStep } from './proof-step.tsx'

const steps = ['Choose', 'Look', 'Erase', 'Proof'] as const

type Stage =
  | { readonly step: 0 }
  | { readonly step: 1 | 2; readonly select: Selection; readonly plan: ErasePlan }
  | { readonly step: 3; readonly erased: EraseResult | undefined }

export function RedactionPage() {
  const { query } = useLocation()
  const { memory, version } = query
  const [stage, setStage] = useState<Stage>({ step: 0 })
  const { run, isRunning, progress, failure } = useAction<ErasePlan>()
  const look = async (select: Selection): Promise<void> => {
    const plan = await run((options) => ask('redaction.plan', { select }, options))
    if (plan !== undefined) setStage({ step: 1, select, plan })
  }
  const begin = { ...(memory && { memoryId: memory }), ...(version && { versionIds: [version] }) }
  return (
    <>
      <h1>Redaction</h1>
      <ol class="steps" aria-label="Steps">
        {steps.map((name, index) => (
          <li
            key={name}
            class={index < stage.step ? 'done' : index === stage.step ? 'cur' : undefined}
            aria-current={index === stage.step ? 'step' : undefined}
          >
            {index + 1} {name}
          </li>
        ))}
      </ol>
      {stage.step === 0 && (
        <>
          <ChooseStep
            begin={begin}
            isAsking={isRunning}
            onLook={(select) => void look(select)}
            onProof={() => setStage({ step: 3, erased: undefined })}
          />
          <ProgressBar progress={progress} />
          <Failure failure={failure} />
        </>
      )}
      {stage.step === 1 && (
        <LookStep
          plan={stage.plan}
          onBack={() => setStage({ step: 0 })}
          onNext={mayManage.value ? () => setStage({ ...stage, step: 2 }) : undefined}
        />
      )}
      {stage.step === 2 && (
        <EraseStep
          select={stage.select}
          plan={stage.plan}
          onBack={() => setStage({ ...stage, step: 1 })}
          onErased={(erased) => setStage({ step: 3, erased })}
        />
      )}
      {stage.step === 3 && (
        <ProofStep erased={stage.erased} onAgain={() => setStage({ step: 0 })} />
      )}
    </>
  )
}
