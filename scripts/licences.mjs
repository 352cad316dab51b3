// The licences of the packages in a bundle, which ask for their texts to be kept.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ours = fileURLToPath(new URL('../LICENSE', import.meta.url))

/** Of the packages that these modules, by their paths, are from. */
export function licenceTexts(modules) {
  const directories = modules.flatMap(
    (id) => id.match(/^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/) ?? [],
  )
  return [...new Set(directories)]
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map(licenceText)
    .join('\n')
}

function licenceText(directory) {
  const manifest = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'))
  const { name, version, license } = manifest
  const found = readdirSync(directory).filter((file) => /^(?:licen[cs]e|notice)\b/i.test(file))
  const texts = found.map((file) => join(directory, file))
  // Some name a licence and bring no text. Ours is one that has the same text for everyone.
  if (texts.length === 0 && license === 'Apache-2.0') texts.push(ours)
  if (texts.length === 0) throw new Error(`${name} has no text of its licence`)
  const head = `=== ${name} ${version} (${license})`
  return [head, ...texts.map((file) => readFileSync(file, 'utf8').trim()), ''].join('\n\n')
}
