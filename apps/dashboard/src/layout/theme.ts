import { type Html, html } from '@sluice/html'
import { parseCookie, stringifySetCookie } from 'cookie'
import type { FastifyRequest } from 'fastify'
import { formOf, formTokenField } from '../access/forms.ts'
import type { PageRoutes } from '../context.ts'

/** `auto` follows what the reader's system prefers. */
const themes = { auto: 'Auto', light: 'Light', dark: 'Dark' } as const

type Theme = keyof typeof themes

const cookieName = 'sluice_theme'
const aYear = 365 * 24 * 60 * 60

function parseTheme(text: string | null | undefined): Theme {
  return text === 'light' || text === 'dark' ? text : 'auto'
}

/** The theme that this browser chose. It is no secret, so its cookie is not signed. */
export function themeOf({ headers }: FastifyRequest): Theme {
  return parseTheme(parseCookie(headers.cookie ?? '')[cookieName])
}

/** A button for each theme. */
export function themeSwitch(request: FastifyRequest): Html {
  const current = themeOf(request)
  return html`<form method="post" action="/theme" class="theme" role="group" aria-label="Theme">
    ${formTokenField(request)}
    ${Object.entries(themes).map(
      ([theme, label]) =>
        html`<button name="theme" value="${theme}" aria-pressed="${String(theme === current)}">${label}</button>`,
    )}
  </form>`
}

/** Keeps the choice, and leads back to where it was made. */
export const themeRoutes: PageRoutes = (dashboard, { dashboardUrl }) => {
  dashboard.post('/theme', { config: { access: 'guests' } }, async (request, reply) => {
    const value = parseTheme(formOf(request).get('theme'))
    const secure = dashboardUrl.startsWith('https:')
    const cookie = {
      name: cookieName,
      value,
      path: '/',
      maxAge: aYear,
      sameSite: 'lax',
      httpOnly: true,
      secure,
    } as const
    return reply.header('Set-Cookie', stringifySetCookie(cookie)).redirect(cameFrom(request, dashboardUrl), 303)
  })
}

/** The page of ours that a form stood on; the first page where the browser does not say. */
function cameFrom({ headers: { referer, host } }: FastifyRequest, dashboardUrl: string): string {
  if (referer === undefined || !URL.canParse(referer)) return '/'
  const from = new URL(referer)
  // A proxy may ask by another name than people do.
  const isOurs = from.host === host || from.host === new URL(dashboardUrl).host
  return isOurs ? `${from.pathname}${from.search}`.replace(/^\/+/, '/') : '/'
}
