import { escapeHtml } from '@sluice/html'

/** What a mail says, in both forms. */
export interface Content {
  subject: string
  text: string
  html: string
}

/** A mail body from paragraphs and at most one link: plain text, and HTML without anything that loads from elsewhere. */
export function renderContent(
  subject: string,
  paragraphs: readonly string[],
  link?: { url: string; label: string },
): Content {
  const linkText = link === undefined ? [] : [`${link.label}:\n${link.url}`]
  const linkHtml = link === undefined ? [] : [`<p><a href="${escapeHtml(link.url)}">${escapeHtml(link.label)}</a></p>`]
  const htmlParagraphs = paragraphs.map((text) => `<p>${escapeHtml(text).replaceAll('\n', '<br>')}</p>`)
  return {
    subject,
    text: `${[...paragraphs, ...linkText].join('\n\n')}\n`,
    html: `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${escapeHtml(subject)}</title></head>
<body style="font-family: system-ui, sans-serif; line-height: 1.5; color: #222; max-width: 36em">
${[...htmlParagraphs, ...linkHtml].join('\n')}
</body>
</html>
`,
  }
}
