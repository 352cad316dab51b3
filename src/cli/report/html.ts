// Pieces of HTML that no value can break: a template escapes every value
// that is not such a piece itself. Pure.

import { timestamp } from '../../api/wire.ts'
import type { ReportedDevice } from '../../store/report/access-events.ts'
import { visible } from '../../text/visible.ts'
import { stylesheet } from './stylesheet.ts'

/** Markup; only `html` makes it, and `style`, of constants. */
export interface Html {
  readonly markup: string
}

export type Value = Html | readonly Html[] | string | number

/**
 * Tags a template. Texts remain texts; characters that hide or turn others are shown as escapes.
 */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Html {
  const parts = strings.map((part, index) => part + markupOf(values[index] ?? ''))
  return { markup: parts.join('') }
}

export const style: Html = { markup: `<style>${stylesheet}</style>` }

/** A name that someone chose: it cannot turn the direction of the text around it. */
export function named(text: string): Html {
  return html`<bdi>${text}</bdi>`
}

/** A device of a report by its name and its id, which alone identifies it. */
export function device(id: string, devices: readonly ReportedDevice[]): Html {
  const { name = '' } = devices.find(({ deviceId }) => deviceId === id) ?? {}
  return name === '' ? code(id) : html`${named(name)} (${code(id)})`
}

export function code(text: string): Html {
  return html`<code>${text}</code>`
}

export function time(milliseconds: number): Html {
  const exact = timestamp(milliseconds)
  const [day = '', clock = ''] = exact.split('T')
  return html`<time datetime="${exact}">${day} ${clock.slice(0, 8)} UTC</time>`
}

export interface Table {
  readonly caption: string
  readonly heads: readonly string[]
  /** The first cell of each is its header. */
  readonly rows: readonly (readonly Value[])[]
  /** For many rows of numbers. */
  readonly isDense?: boolean
}

/** A table in a region that the keyboard can scroll. */
export function table({ caption, heads, rows, isDense = false }: Table): Html {
  const columns = heads.map((head) => html`<th scope="col">${head}</th>`)
  const body = rows.map(([first = '', ...others]) => {
    const cells = others.map((value) => html`<td>${value}</td>`)
    return html` <tr>
      <th scope="row">${first}</th>
      ${cells}
    </tr>`
  })
  return html`<div
    class="scroll${isDense ? ' dense' : ''}"
    role="region"
    aria-label="${caption}"
    tabindex="0"
  >
    <table>
      <caption>
        ${caption}
      </caption>
      <thead>
        <tr>
          ${columns}
        </tr>
      </thead>
      <tbody>
        ${body}
      </tbody>
    </table>
  </div>`
}

/** Terms with their values, each on its own line. */
export function facts(rows: readonly (readonly [term: string, value: Value])[]): Html {
  const pairs = rows.map(([term, value]) => {
    return html`<div>
      <dt>${term}</dt>
      <dd>${value}</dd>
    </div>`
  })
  return html`<dl>${pairs}</dl>`
}

function markupOf(value: Value): string {
  if (typeof value === 'number') return String(value)
  if (typeof value === 'string') return escaped(value)
  return 'markup' in value ? value.markup : value.map(({ markup }) => markup).join('')
}

function escaped(text: string): string {
  return visible(text.toWellFormed()).replaceAll(/[&<>"']/g, reference)
}

function reference(character: string): string {
  return `&#${character.charCodeAt(0)};`
}
