import { createHash } from 'node:crypto'

/** One route is shown at a time: the target of the address. `#all` shows everything. */
export const style = `
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --accent: light-dark(#1d4ed8, #8ab4ff); }
* { box-sizing: border-box; } html { background: light-dark(#fff, #121212); color: light-dark(#1a1a1a, #f0f0f0); }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; display: grid; grid-template-columns: 19rem minmax(0, 1fr); }
a { color: var(--accent); } h1, h2, h3 { line-height: 1.25; } h3 { margin-bottom: 0.4rem; }
aside { border-right: 1px solid var(--line); height: 100vh; overflow-y: auto; padding: 1rem; position: sticky; top: 0; }
aside h2 { font-size: 0.85rem; margin: 1.2rem 0 0.3rem; } aside ul { list-style: none; margin: 0; padding: 0; }
aside li a { border-radius: 6px; color: inherit; display: flex; font-size: 0.9rem; gap: 0.5rem; padding: 0.25rem 0.4rem;
  text-decoration: none; }
aside li a:hover, aside a[aria-current] { background: var(--soft); }
aside .method { flex: none; font-size: 0.7rem; line-height: 1.35rem; width: 3.2rem; }
aside input { font: inherit; margin-top: 0.8rem; padding: 0.3rem 0.5rem; width: 100%; }
main { max-width: 64rem; padding: 1rem 2rem 4rem; }
section { display: none; } section:target, section:has(:target), main:target > section { display: block; }
main:not(:target, :has(:target)) > #start { display: block; } main:target > section + section { border-top: 1px solid var(--line); }
code, pre { font: 0.9em/1.45 ui-monospace, monospace; } code { overflow-wrap: anywhere; }
pre { background: var(--soft); border-radius: 6px; margin: 0.4rem 0; overflow-x: auto; padding: 0.75rem; }
table { border-collapse: collapse; margin: 0.6rem 0; width: 100%; } th, td { border-bottom: 1px solid var(--line); padding: 0.3rem 0.6rem 0.3rem 0;
  text-align: left; vertical-align: top; } td:first-child code { white-space: nowrap; } .members code { overflow-wrap: break-word; }
details { margin: 0.4rem 0; } summary { cursor: pointer; }
.method { color: var(--accent); font-weight: bold; }
.badge { background: var(--soft); border-radius: 4px; font-size: 0.8rem; font-weight: normal; padding: 0.1rem 0.4rem; }
@media (max-width: 50rem) {
  body { display: block; } main { padding: 0.5rem 1rem 3rem; }
  td:first-child code { white-space: normal; } .members th { display: none; }
  .members tr { border-bottom: 1px solid var(--line); display: flex; flex-wrap: wrap; padding: 0.3rem 0; }
  .members td { border: 0; min-width: 0; padding: 0 1rem 0 0; } .members td:last-child { flex-basis: 100%; }
  .members td:nth-child(3)::before { content: 'required: '; }
  aside { border: 0 solid var(--line); border-bottom-width: 1px; height: auto; max-height: 45vh; position: static; }
}
`

/** Searches the routes by the words of their sections, marks the shown route, and keeps the language of the samples. */
export const script = `
const find = document.querySelector('input')
const links = [...document.querySelectorAll('nav li a')]
const textOf = (link) => (link.textContent + document.querySelector(link.hash).textContent).toLowerCase()
const texts = new Map(links.map((link) => [link, textOf(link)]))
const search = () => {
  const words = find.value.toLowerCase().split(/\\s+/)
  for (const [link, text] of texts) link.parentElement.hidden = !words.every((word) => text.includes(word))
  for (const list of document.querySelectorAll('nav ul'))
    list.previousElementSibling.hidden = !list.querySelector('li:not([hidden])')
}
const mark = () => {
  for (const link of links) {
    if (link.hash === location.hash) link.setAttribute('aria-current', 'true')
    else link.removeAttribute('aria-current')
  }
}
find.hidden = false
find.addEventListener('input', search)
find.addEventListener('keydown', ({ key }) => key === 'Enter' && links.find((link) => link.offsetParent)?.click())
addEventListener('hashchange', mark)
for (const summary of document.querySelectorAll('[data-language] > summary'))
  summary.addEventListener('click', () => {
    const { language } = summary.parentElement.dataset
    for (const other of document.querySelectorAll('[data-language="' + language + '"]'))
      if (other !== summary.parentElement) other.open = true
  })
mark()
`

const digest = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** Prevents the page from loading anything and from being framed. The digests allow its own style and script. */
export const contentSecurityPolicy = [
  "default-src 'none'",
  `style-src ${digest(style)}`,
  `script-src ${digest(script)}`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')
