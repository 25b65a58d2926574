export { type Content, escapeHtml, Html, html } from './html.ts'
