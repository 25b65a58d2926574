import { type Html, html } from '@sluice/html'
import { parseCookie, stringifySetCookie } from 'cookie'
import type { FastifyRequest } from 'fastify'
import { formOf, formTokenField } from '../access/forms.ts'
import type { PageRoutes } from '../context.ts'

/** The themes. `auto` follows the preference of the reader's system. */
const themes = { auto: 'Auto', light: 'Light', dark: 'Dark' } as const

type Theme = keyof typeof themes

const cookieName = 'sluice_theme'
const yearSeconds = 365 * 24 * 60 * 60

function parseTheme(text: string | null | undefined): Theme {
  return text === 'light' || text === 'dark' ? text : 'auto'
}

/** Returns the theme that was chosen in this browser. It is no secret, so its cookie is not signed. */
export function themeOf({ headers }: FastifyRequest): Theme {
  return parseTheme(parseCookie(headers.cookie ?? '')[cookieName])
}

/** Renders a button for each theme. */
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

/** Adds the route that stores the theme in a cookie, and redirects to the page of the form. */
export const themeRoutes: PageRoutes = (dashboard, { dashboardUrl }) => {
  const config = { access: 'guests', audit: { unrecordedBecause: 'only a cookie changes' } } as const
  dashboard.post('/theme', { config }, async (request, reply) => {
    const value = parseTheme(formOf(request).get('theme'))
    const secure = dashboardUrl.startsWith('https:')
    const cookie = {
      name: cookieName,
      value,
      path: '/',
      maxAge: yearSeconds,
      sameSite: 'lax',
      httpOnly: true,
      secure,
    } as const
    return reply.header('Set-Cookie', stringifySetCookie(cookie)).redirect(returnPath(request, dashboardUrl), 303)
  })
}

/**
 * Returns the path of the page that sent the form; the start page if the browser does not state a page of this host.
 */
function returnPath({ headers: { referer, host } }: FastifyRequest, dashboardUrl: string): string {
  if (referer === undefined || !URL.canParse(referer)) return '/'
  const from = new URL(referer)
  // Behind a proxy, the Host header may differ from the public address.
  const isOurs = from.host === host || from.host === new URL(dashboardUrl).host
  return isOurs ? `${from.pathname}${from.search}`.replace(/^\/+/, '/') : '/'
}
