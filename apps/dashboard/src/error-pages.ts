import { UnknownApp } from '@sluice/accounts'
import { isRefusedMove } from '@sluice/database'
import { html } from '@sluice/html'
import { AppSuspended } from '@sluice/moves'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { ForeignForm } from './access/forms.ts'
import { PageNotFound } from './access/guard.ts'
import { AppMoved } from './access/moved-apps.ts'
import { UnreadableText } from './access/readable-text.ts'
import { TooManyRequests } from './access/request-limits.ts'
import { counted } from './layout/format.ts'
import { sendPage, startLink } from './layout/page.ts'

/**
 * Answers errors with pages: unknown addresses, foreign, oversized or unreadable forms, too many
 * requests, and failures of the service.
 */
export function answerErrors(dashboard: FastifyInstance): void {
  dashboard.setNotFoundHandler((_, reply) => notFound(reply))
  dashboard.setErrorHandler((error, request, reply) => {
    if (error instanceof PageNotFound || error instanceof UnknownApp) return notFound(reply)
    if (error instanceof ForeignForm) return foreignForm(reply)
    if (error instanceof AppMoved) return moved(reply, error)
    if (error instanceof AppSuspended || isRefusedMove(error)) return moving(reply)
    if (error instanceof UnreadableText) return unreadable(reply)
    if (error instanceof TooManyRequests) return tooMany(reply, error)
    const status = statusOf(error)
    if (status < 500) return refused(reply, status)
    request.log.error({ err: error }, 'request failed')
    return failed(reply)
  })
}

function statusOf(error: unknown): number {
  const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500
  return status >= 400 && status < 500 ? status : 500
}

/** Answers with the page for unknown addresses. */
export function notFound(reply: FastifyReply): FastifyReply {
  return sendPage(reply.code(404), {
    title: 'Not found',
    content: html`<p>There is no such page, or you may not see it.</p>${startLink}`,
  })
}

function foreignForm(reply: FastifyReply): FastifyReply {
  return sendPage(reply.code(403), {
    title: 'This form is too old',
    content: html`<p>Nothing was changed. You may have signed in or out since you opened the page. Open it again, and send the form again.</p>
      ${startLink}`,
  })
}

function moved(reply: FastifyReply, { page }: AppMoved): FastifyReply {
  return sendPage(reply.code(409), {
    title: 'This app has moved',
    content: html`<p>Nothing was changed. Open the app <a href="${page}">at its new address</a>, and send the form again.</p>`,
  })
}

function moving(reply: FastifyReply): FastifyReply {
  return sendPage(reply.code(503).header('Retry-After', movingSeconds), {
    title: 'This app is moving',
    content: html`<p>Nothing was changed. Please try again in ${counted(movingSeconds, 'second')}.</p>`,
  })
}

/** A move holds an app for a few seconds. */
const movingSeconds = 5

function unreadable(reply: FastifyReply): FastifyReply {
  return sendPage(reply.code(400), {
    title: 'The request could not be read',
    content: html`<p>A field holds the character U+0000, which cannot be stored. Nothing was changed.</p>${startLink}`,
  })
}

function refused(reply: FastifyReply, status: number): FastifyReply {
  const title = status === 413 ? 'The request was too large' : 'The request could not be read'
  return sendPage(reply.code(status), { title, content: html`<p>Nothing was changed.</p>${startLink}` })
}

function tooMany(reply: FastifyReply, { retryAfter }: TooManyRequests): FastifyReply {
  return sendPage(reply.code(429).header('Retry-After', retryAfter), {
    title: 'Too many requests',
    content: html`<p>You, or this app's members together, open pages and send forms too quickly. Nothing was changed.</p>
      <p>Please try again in ${counted(retryAfter, 'second')}.</p>
      ${startLink}`,
  })
}

function failed(reply: FastifyReply): FastifyReply {
  return sendPage(reply.code(500), {
    title: 'Something went wrong',
    content: html`<p>The error was logged with the request ID <code data-copy="request ID">${reply.request.id}</code>. Please try again.</p>${startLink}`,
  })
}
