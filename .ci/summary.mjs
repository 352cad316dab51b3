// Prints the last line of a run from vitest's JSON reports, that of `npm cit` and that of the slow
// tests: summary.mjs <tools installed> <report>…
// Exits with 1 if a test failed, none ran, or one was skipped for a tool that was installed.

import { existsSync, readFileSync } from 'node:fs'

const [installed = '', ...files] = process.argv.slice(2)
// No report: the installation or the start of vitest failed, which counts as one failure.
const nothing = { testResults: [{ status: 'failed', assertionResults: [] }] }
const reports = files.map((file) =>
  existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : nothing,
)
const results = reports.flatMap((report) => report.testResults)
const tests = results.flatMap((result) => result.assertionResults)

// A file that cannot be loaded holds no tests, yet it failed.
const broken = results.filter(
  (result) => result.status === 'failed' && result.assertionResults.length === 0,
)
const passed = count('passed')
const failed = count('failed') + broken.length
// Each report names every test; one that a run leaves to the other is in both.
const skipped = Math.max(0, tests.length / files.length - passed - count('failed'))

const needless = tests.filter((test) => test.fullName.includes('skipped: install'))
const refused = installed === '1' ? needless : []
for (const test of refused) console.log(`Skipped, though the tool is installed: ${test.fullName}`)

// Named once more at the end, since of a long log one reads the end.
for (const result of results) {
  for (const test of result.assertionResults.filter((each) => each.status === 'failed')) {
    const [message = ''] = test.failureMessages
    console.log(`Failed: ${result.name}: ${test.fullName}\n${message.slice(0, 1500)}`)
  }
}
for (const result of broken)
  console.log(`Failed: ${result.name ?? 'no report'}: ${result.message ?? ''}`)

console.log(`${passed} passed, ${failed} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`)
process.exitCode = passed === 0 || failed > 0 || refused.length > 0 ? 1 : 0

function count(status) {
  return tests.filter((test) => test.status === status).length
}
