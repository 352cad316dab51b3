// One finding of `doctor`: the check, its result, and what to do about it.

import { StoreError } from '../../errors.ts'
import { surfaceOf } from '../../operations/error-surface.ts'
import { CommandError } from '../call/command.ts'

export interface DoctorFinding {
  readonly check: string
  readonly level: 'ok' | 'warn' | 'fail'
  /** The finding itself. */
  readonly found: string
  /** What to do; absent if the check passed. */
  readonly fix?: string
  /** The exit code of a failure. */
  readonly exitCode?: number
}

export function ok(check: string, found: string): DoctorFinding {
  return { check, level: 'ok', found }
}

export function warn(check: string, found: string, fix: string): DoctorFinding {
  return { check, level: 'warn', found, fix }
}

export function fail(check: string, found: string, fix: string, exitCode: number): DoctorFinding {
  return { check, level: 'fail', found, fix, exitCode }
}

/** A check that could not be done because of an error, or that found one. */
export function failed(check: string, error: unknown): DoctorFinding {
  const { exitCode, advice } = surfaceOf(error)
  const found = error instanceof StoreError ? error.message : 'an unexpected error'
  return fail(check, found, error instanceof CommandError ? error.hint : advice, exitCode)
}

/** `ok    Identity     …`, and a line with the fix where there is one. */
export function findingText({ check, level, found, fix }: DoctorFinding): string {
  const line = `${level.padEnd(4)}  ${check.padEnd(16)}  ${found}\n`
  return fix === undefined ? line : `${line}${' '.repeat(24)}fix: ${fix}\n`
}
