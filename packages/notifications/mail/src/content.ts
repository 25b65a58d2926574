import { type Html, html } from '@sluice/html'
import { withoutNames } from './quoted.ts'

/** The subject and the body of a mail; the body as plain text and as HTML. */
export interface Content {
  subject: string
  text: string
  html: string
}

/** A paragraph, or a list of named facts. */
type Block = string | { facts: Readonly<Record<string, string>> }

/** A link at the end of a mail. */
interface Link {
  url: string
  label: string
}

/**
 * Renders a mail from paragraphs, facts and links. The HTML loads nothing from elsewhere. Mail programs
 * support tables and inline styles best. The style sheet only adds dark colours, and may be ignored.
 */
export function renderContent(subject: string, blocks: readonly Block[], ...links: readonly Link[]): Content {
  const linkTexts = links.map(({ label, url }) => `${label}:\n${url}`)
  return {
    subject,
    text: `${[...blocks.map(blockText), ...linkTexts].join('\n\n')}\n`,
    html: page(subject, [...blocks.map(blockHtml), ...links.map(button)]).text,
  }
}

function blockText(block: Block): string {
  if (typeof block === 'string') return block
  return Object.entries(block.facts)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')
}

function blockHtml(block: Block): Html {
  if (typeof block === 'string') {
    const lines = block.split('\n').map((line, index) => (index === 0 ? line : html`<br>${line}`))
    return html`<p style="margin: 0 0 16px">${lines}</p>`
  }
  const rows = Object.entries(block.facts).map(
    ([name, value]) => html`<tr>
      <th scope="row" align="left" class="faint" style="padding: 6px 16px 6px 0; color: #596273; font-weight: normal">${name}</th>
      <td style="padding: 6px 0; overflow-wrap: anywhere; word-break: break-word">${value}</td>
    </tr>`,
  )
  return html`<table cellpadding="0" cellspacing="0" border="0" style="margin: 0 0 16px; border-collapse: collapse">${rows}</table>`
}

function button({ url, label }: Link): Html {
  return html`<p style="margin: 8px 0 8px"><a class="button" href="${url}" style="display: inline-block; padding: 10px 18px; border-radius: 7px; background: #1f5fd1; color: #ffffff; font-weight: bold; text-decoration: none">${label}</a></p>`
}

function page(subject: string, body: Parameters<typeof html>[1]): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${subject}</title>
<style>
@media (prefers-color-scheme: dark) {
  .ground { background: #14171c !important; color: #e6e9ee !important; }
  .sheet { background: #1c2027 !important; border-color: #343a45 !important; color: #e6e9ee !important; }
  .faint { color: #a3acba !important; }
  .button { background: #8db4ff !important; color: #0d1420 !important; }
}
</style>
</head>
<body class="ground" style="margin: 0; background: #f6f7f9; color: #1b2027">
<table role="presentation" class="ground" width="100%" cellpadding="0" cellspacing="0" border="0" style="background: #f6f7f9">
<tr><td align="center" style="padding: 24px 12px">
<table role="presentation" class="sheet" width="100%" cellpadding="0" cellspacing="0" border="0" style="max-width: 600px; background: #ffffff; color: #1b2027; border: 1px solid #d9dde4; border-radius: 10px">
<tr><td align="left" style="padding: 24px; font: 16px/1.5 system-ui, 'Segoe UI', Helvetica, Arial, sans-serif; overflow-wrap: anywhere; word-break: break-word">
<p class="faint" style="margin: 0 0 12px; color: #596273; font-size: 14px">Sluice</p>
<h1 style="margin: 0 0 16px; font-size: 20px; line-height: 1.3">${withoutNames(subject)}</h1>
${body}
</td></tr>
</table>
</td></tr>
</table>
</body>
</html>
`
}
