// The most memory that this process held so far.

import { readFileSync } from 'node:fs'

/**
 * Bytes. getrusage starts from the memory of the parent process, so Linux is asked for the peak of
 * this program alone.
 */
export function peakMemory(): number {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS * 1024
  const status = readFileSync('/proc/self/status', 'utf8')
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024
}
