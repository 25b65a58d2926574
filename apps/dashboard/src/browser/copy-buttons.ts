// Adds a button after each element with `data-copy`, which copies the text of the element. The attribute's value says
// what it is, such as `API token`. Browsers have no clipboard on pages that came over plain http from another machine.
import { buttonOf, element } from './elements.ts'

/** How long a button says whether it has copied, ms. */
const shownMs = 2_000

const status = element('p', { role: 'status', class: 'unseen' })

function copyButton(source: HTMLElement): HTMLElement {
  const label = `Copy ${source.dataset.copy}`
  const button = buttonOf('Copy', async () => {
    // The browser may deny the clipboard.
    const copying = navigator.clipboard.writeText(source.textContent ?? '')
    const outcome = await copying.then(
      () => 'Copied',
      () => 'Not copied',
    )
    button.textContent = outcome
    status.textContent = outcome
    setTimeout(() => {
      button.textContent = 'Copy'
      status.textContent = ''
    }, shownMs)
  })
  button.className = 'copy'
  button.setAttribute('aria-label', label)
  return button
}

if (isSecureContext) {
  document.body.append(status)
  for (const source of document.querySelectorAll<HTMLElement>('[data-copy]')) source.after(copyButton(source))
}
