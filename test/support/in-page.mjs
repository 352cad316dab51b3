// What tests run in a page of the console: functions of their own, which must name nothing outside
// of themselves. Not compiled, since the tests know no DOM.

/** Follows a link, without leaving the page. */
export function follow(path) {
  const link = document.createElement('a')
  link.href = path
  document.body.append(link)
  link.click()
  link.remove()
}

/** Whether nothing is being asked for that the view needs. */
export function isSettled() {
  const text = document.querySelector('main')?.textContent ?? ''
  return !/Reading…|Comparing…|Looking at what|Searching…/.test(text)
}

export function widthOfPage() {
  return document.documentElement.scrollWidth
}

/** The height of the bar, and where the contents of the view begin, in px. */
export function placesInPage() {
  const [bar, content] = ['.bar', 'main h1, main .banner'].map((selector) =>
    document.querySelector(selector).getBoundingClientRect(),
  )
  return { bar: bar.height, content: content.top }
}

export function countNodes() {
  return document.querySelectorAll('*').length
}

/** `BODY` if nothing has the focus. */
export function focusedTag() {
  return document.activeElement?.tagName
}

export function isFocused(selector) {
  return document.activeElement?.matches(selector) === true
}

/** What axe reports; its code has been evaluated before. */
export async function violations() {
  return (await globalThis.axe.run()).violations
}

/** Tells the test of each refusal by the policy of the page. */
export function watchPolicy() {
  addEventListener('securitypolicyviolation', (event) => {
    globalThis.reported(`${event.violatedDirective} ${event.blockedURI}`)
  })
}

/** What Markdown has become, whose box is then no longer found. */
export function takeMarkdown() {
  const box = document.querySelector('.markdown')
  const all = [...box.querySelectorAll('*')]
  const links = [...box.querySelectorAll('a[href]')]
  const found = {
    elements: [...new Set(all.map((one) => one.tagName))],
    // Chips are of the page: Markdown gives nothing a class.
    attributes: all.filter((one) => !one.matches('.hid')).flatMap((one) => one.getAttributeNames()),
    links: links.map(({ protocol, host, pathname, textContent }) => {
      return { protocol, isSaid: textContent.includes(protocol === 'mailto:' ? pathname : host) }
    }),
  }
  box.classList.remove('markdown')
  return found
}

/** The text in the clipboard. */
export function copiedText() {
  return navigator.clipboard.readText()
}

/** All that the page keeps in the browser, as text. */
export function keptByPage() {
  const kept = [sessionStorage, localStorage].map((storage) => JSON.stringify(storage))
  return kept.join(' ')
}

/** How long it takes until a filter is drawn, in ms. */
export async function timeOfFilter(text) {
  const input = document.querySelector('#filter')
  const start = performance.now()
  input.value = text
  input.dispatchEvent(new Event('input', { bubbles: true }))
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))
  return performance.now() - start
}

/** How often the tree was answered. */
export function countTrees() {
  return performance.getEntriesByName(`${location.origin}/ask/memories.tree`).length
}

/** Nothing is printed, and `hasPrinted` tells whether it would have been. */
export function countPrints() {
  globalThis.print = () => {
    globalThis.printed = true
  }
}

export function hasPrinted() {
  return globalThis.printed === true
}
