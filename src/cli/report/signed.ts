// The signed report of a console: the page that `report` writes, and its signature.

import { utf8 } from '../../bytes.ts'
import type { Clock } from '../../clock.ts'
import type { Identity } from '../../keys/identity.ts'
import type { SignReport } from '../../operations/console/operation.ts'
import { signReport } from '../../store/report/report-signature.ts'
import { reportPage } from './page.ts'

export function reportSigner(identity: Identity, clock: Clock): SignReport {
  return (report) => {
    const html = reportPage(report, clock())
    return { html, signature: signReport(utf8(html), identity) }
  }
}
