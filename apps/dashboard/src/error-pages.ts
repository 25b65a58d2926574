import { html } from '@sluice/html'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { ForeignForm } from './access/forms.ts'
import { PageNotFound } from './access/guard.ts'
import { UnreadableText } from './access/readable-text.ts'
import { sendPage } from './layout/page.ts'

/** Answers what goes wrong with a page: what is not there, forms from elsewhere, too large or unreadable ones, and failures of ours. */
export function answerErrors(dashboard: FastifyInstance): void {
  dashboard.setNotFoundHandler((_, reply) => notFound(reply))
  dashboard.setErrorHandler((error, request, reply) => {
    if (error instanceof PageNotFound) return notFound(reply)
    if (error instanceof ForeignForm) return foreignForm(reply)
    if (error instanceof UnreadableText) return unreadable(reply)
    const status = statusOf(error)
    if (status === 429) return busy(reply)
    if (status < 500) return refused(reply, status)
    request.log.error({ err: error }, 'request failed')
    return failed(reply)
  })
}

function statusOf(error: unknown): number {
  const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500
  return status >= 400 && status < 500 ? status : 500
}

function notFound(reply: FastifyReply): FastifyReply {
  return sendPage(reply.code(404), {
    title: 'Not found',
    content: html`<p>There is no such page, or it is not yours to see.</p><p><a href="/">To the first page</a></p>`,
  })
}

function foreignForm(reply: FastifyReply): FastifyReply {
  return sendPage(reply.code(403), {
    title: 'This form is too old',
    content: html`<p>Nothing was changed. You may have signed in or out since the page was opened: open it again, and send the form once more.</p>
      <p><a href="/">To the first page</a></p>`,
  })
}

function unreadable(reply: FastifyReply): FastifyReply {
  return sendPage(reply.code(400), {
    title: 'That could not be read',
    content: html`<p>A field holds the character U+0000, which cannot be stored. Nothing was changed.</p>`,
  })
}

function refused(reply: FastifyReply, status: number): FastifyReply {
  const title = status === 413 ? 'That was too large' : 'That could not be read'
  return sendPage(reply.code(status), { title, content: html`<p>Nothing was changed.</p>` })
}

function busy(reply: FastifyReply): FastifyReply {
  return sendPage(reply.code(429).header('Retry-After', 1), {
    title: 'Too many forms at the same moment',
    content: html`<p>Nothing was changed. Please send the form again.</p>`,
  })
}

function failed(reply: FastifyReply): FastifyReply {
  return sendPage(reply.code(500), {
    title: 'Something went wrong here',
    content: html`<p>It has been logged with the number <code>${reply.request.id}</code>. Please try again.</p>`,
  })
}
