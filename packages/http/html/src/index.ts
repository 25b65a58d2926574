export { type Content, Html, html } from './html.ts'
