import { type Html, html } from '@sluice/html'
import type { Mail } from './mail.ts'

export const styleSheet = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 60rem; margin: 0 auto; padding: 1rem }
h1 { font-size: 1.5rem; overflow-wrap: anywhere }
ul { list-style: none; padding: 0 }
li { border-top: 1px solid #8886; padding: .5rem 0; overflow-wrap: anywhere }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem }
dt, small { opacity: .8 }
dd { margin: 0; overflow-wrap: anywhere }
pre { white-space: pre-wrap; overflow-wrap: anywhere; border-top: 1px solid #8886; padding-top: 1rem }
iframe { width: 100%; height: 32rem; border: 1px solid #8886; background: #fff; color-scheme: light }
`

/** Renders the page that lists the mails, newest first. */
export function listPage(mails: readonly Mail[]): string {
  const rows = mails.map(
    (mail) => html`<li><a href="/mails/${mail.id}">${title(mail)}</a><br>
<small>${time(mail)} to ${mail.to.join(', ')}</small></li>`,
  )
  const list = rows.length > 0 ? html`<ul>${rows}</ul>` : html`<p>No mails yet.</p>`
  return page(
    'Inbox',
    html`<h1>Inbox</h1>
<p>Mails that Sluice sent on this machine. They are not delivered to anyone. <a href="/">Reload</a></p>
${list}`,
  )
}

/** Renders the page of one mail. The mail's HTML is in a frame that runs no scripts. */
export function mailPage(mail: Mail): string {
  const frame = html`<h2>HTML</h2>
<iframe title="The mail's HTML" src="/mails/${mail.id}/html" sandbox="allow-popups allow-popups-to-escape-sandbox"></iframe>`
  return page(
    title(mail),
    html`<p><a href="/">Inbox</a></p>
<h1>${title(mail)}</h1>
<dl><dt>From</dt><dd>${mail.from}</dd>
<dt>To</dt><dd>${mail.to.join(', ')}</dd>
<dt>Received</dt><dd>${time(mail)}</dd></dl>
<pre>${linked(mail.text)}</pre>
${mail.html === null ? '' : frame}`,
  )
}

/** Renders the content of the frame: the mail's unchanged HTML, with links that open in new tabs. */
export function framedHtml(source: string): string {
  return `<!doctype html><meta charset="utf-8"><base target="_blank">${source}`
}

/** Renders the page for an unknown address. */
export function missingPage(): string {
  return page(
    'Not found',
    html`<h1>Not found</h1>
<p>Only the newest mails are kept. <a href="/">Inbox</a></p>`,
  )
}

function page(heading: string, body: Html): string {
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${heading} · Sluice</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/style.css">
<main>
${body}
</main>
</html>
`.text
}

function title(mail: Mail): string {
  return mail.subject.trim() === '' ? '(no subject)' : mail.subject
}

function time(mail: Mail): Html {
  return html`<time datetime="${mail.received_at}">${mail.received_at.replace('T', ' ').slice(0, 19)} UTC</time>`
}

/** Turns the web addresses in a text into links. */
function linked(text: string): Html[] {
  // Splitting by a capturing group makes every second piece an address.
  return text
    .split(/(https?:\/\/[^\s<>"']+[^\s<>"'.,;:!?)\]])/)
    .map((piece, index) =>
      index % 2 === 1
        ? html`<a href="${piece}" target="_blank" rel="noopener noreferrer">${piece}</a>`
        : html`${piece}`,
    )
}
