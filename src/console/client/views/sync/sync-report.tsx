// What one sync has taken over, combined and sent.

import type { JSX } from 'preact'
import type { SyncReport } from '../../../../api/console/contract.ts'
import { addressOf } from '../../core/address.ts'
import { countOf, sizeText } from '../../parts/times.ts'

export function SyncReportView({ report }: { readonly report: SyncReport }): JSX.Element {
  const facts = factsOf(report)
  return (
    <section class="banner good" role="status">
      <h2>Synced with {report.remote}</h2>
      <ul>
        <li>
          Received {countOf(report.received.commits, 'commit')}, {sizeText(report.received.bytes)};
          sent {countOf(report.sent.commits, 'commit')}, {sizeText(report.sent.bytes)}
        </li>
        {facts.map((fact) => (
          <li key={fact}>{fact}</li>
        ))}
        {report.merge !== undefined && (
          <li>
            Both histories were joined. <a href={addressOf.view('merges')}>Look at the merges</a>
          </li>
        )}
      </ul>
    </section>
  )
}

function factsOf(report: SyncReport): readonly string[] {
  const { outcomes, erased, late, newDevices, forkedDevices, settings, hasRepeated } = report
  const { builtOnRedacted, pendingDevices } = report
  const facts: readonly (readonly [boolean, string])[] = [
    [outcomes.length > 0, `${countOf(outcomes.length, 'memory')} changed on both sides`],
    [erased > 0, `Erased ${countOf(erased, 'version')} that others have redacted`],
    [late.length > 0, `Left out ${countOf(late.length, 'change')}`],
    [newDevices.length > 0, `${countOf(newDevices.length, 'device')} new: look at Devices`],
    [forkedDevices.length > 0, 'A device writes from two machines: look at Devices'],
    [settings === 'replaced', 'The settings of another device are in force now'],
    [settings === 'kept', 'Another device has changed the settings, too; ours stay in force'],
    [hasRepeated, 'What members had written on the line that is left was written again'],
    [builtOnRedacted.length > 0, 'It brought versions that may repeat a redacted text'],
    [pendingDevices.length > 0, 'Some devices have not shown yet that they erased'],
  ]
  return facts.filter(([holds]) => holds).map(([, fact]) => fact)
}
