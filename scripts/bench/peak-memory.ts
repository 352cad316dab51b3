// The most memory that this process held so far.

import { readFileSync } from 'node:fs'

/**
 * Bytes. What getrusage says begins with the memory of the process that started this one, so Linux
 * is asked for the peak of this program alone.
 */
export function peakMemory(): number {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS * 1024
  const status = readFileSync('/proc/self/status', 'utf8')
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024
}
