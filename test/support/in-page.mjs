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

/**
 * Takes away what differs in each store: ids, the words of the head, and the bars of the line of
 * time, since ids order the commits that two devices wrote apart.
 */
export function hideIds() {
  document.querySelector('.bars')?.remove()
  for (const words of document.querySelectorAll('.words')) {
    words.textContent = 'word '.repeat(12).trim()
  }
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) {
    const { currentNode } = texts
    const text = currentNode.nodeValue
    const next = text
      .replaceAll(/dev_[0-9a-z]{26}/g, `dev_${'0'.repeat(26)}`)
      .replaceAll(/\b[0-9a-f]{40}\b/g, '0'.repeat(40))
      .replaceAll(/\S*\/gitlocket-test-\S*/g, '/srv/memory.git')
    if (next !== text) currentNode.nodeValue = next
  }
}

/** One JPEG of several pictures, all a quarter as large. */
export async function sheetOf({ width, height, shots }) {
  const canvas = document.createElement('canvas')
  canvas.width = width / 4
  canvas.height = height / 4
  const context = canvas.getContext('2d')
  context.imageSmoothingQuality = 'high'
  for (const { data, left, top } of shots) {
    const image = new Image()
    image.src = `data:image/jpeg;base64,${data}`
    await image.decode()
    context.drawImage(image, left / 4, top / 4, image.width / 4, image.height / 4)
  }
  return canvas.toDataURL('image/jpeg', 0.8).split(',')[1]
}

/**
 * The share of each part of two sheets that differs, in a thousand of its pixels. Both are blurred:
 * letters may have other edges, but neither another place nor another color.
 */
export async function differencesOf({ sheets, parts, contrast }) {
  const [kept, made] = await Promise.all(
    sheets.map(async (data) => {
      const image = new Image()
      image.src = `data:image/jpeg;base64,${data}`
      await image.decode()
      const canvas = document.createElement('canvas')
      canvas.width = image.width
      canvas.height = image.height
      const context = canvas.getContext('2d', { willReadFrequently: true })
      context.filter = 'blur(1px)'
      context.drawImage(image, 0, 0)
      return context
    }),
  )
  return parts.map(({ left, top, width, height }) => {
    const place = [left, top, width, height].map((size) => size / 4)
    const [one, other] = [kept, made].map((context) => context.getImageData(...place).data)
    let count = 0
    for (let at = 0; at < one.length; at += 4) {
      const most = Math.max(
        Math.abs(one[at] - other[at]),
        Math.abs(one[at + 1] - other[at + 1]),
        Math.abs(one[at + 2] - other[at + 2]),
      )
      if (most > contrast) count += 1
    }
    return (4000 * count) / one.length
  })
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
