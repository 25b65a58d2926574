import { type MappedColumn, parseColumnMapping, parseColumnNames } from '@sluice/contract'
import { findColumnMapping, forgetColumnMapping, keepColumnMapping } from '@sluice/imports'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { formOf } from '../access/forms.ts'
import { visitedApp } from '../access/guard.ts'
import type { PageRoutes } from '../context.ts'

/** Maximum number of bytes of a form, which contains the names of a header and a mapping, percent-encoded. */
const bodyLimit = 2 ** 20

const finding = { audit: { unrecordedBecause: 'it only reads; the names of columns need a body' } }
const target = (request: FastifyRequest) => {
  const columns = columnsIn(request)
  return columns && (columns.length === 1 ? '1 column' : `${columns.length} columns`)
}
const keeping = { audit: { what: 'column_mapping.keep', target } } as const
const forgetting = { audit: { what: 'column_mapping.forget', target } } as const

/**
 * Adds the routes by which the script of the data import page finds, keeps and forgets the mapping for files with the
 * same columns. The forms have the field `columns`, a JSON list of names.
 */
export const mappingRoutes: PageRoutes = (dashboard, { db }) => {
  const address = '/apps/:appId/data-import/mappings'

  dashboard.post(`${address}/find`, { config: finding, bodyLimit }, async (request, reply) => {
    const columns = columnsIn(request)
    if (columns === undefined) return refuse(reply)
    const found = await findColumnMapping(db, visitedApp(request).appId, columns)
    return found === undefined ? reply.code(204).send() : { mapping: found.mapping, kept_at: found.keptAt }
  })

  dashboard.post(`${address}/keep`, { config: keeping, bodyLimit }, async (request, reply) => {
    const columns = columnsIn(request)
    const mapping = columns && mappingIn(request, columns)
    if (columns === undefined || mapping === undefined) return refuse(reply)
    await keepColumnMapping(db, visitedApp(request).appId, columns, mapping)
    return reply.code(204).send()
  })

  dashboard.post(`${address}/forget`, { config: forgetting, bodyLimit }, async (request, reply) => {
    const columns = columnsIn(request)
    if (columns === undefined) return refuse(reply)
    request.auditChange = await forgetColumnMapping(db, visitedApp(request).appId, columns)
    return reply.code(204).send()
  })
}

function columnsIn(request: FastifyRequest): string[] | undefined {
  return parseColumnNames(formOf(request).get('columns') ?? '')
}

function mappingIn(request: FastifyRequest, columns: readonly string[]): MappedColumn[] | undefined {
  return parseColumnMapping(formOf(request).get('mapping') ?? '', columns)
}

/** Answers 400 without a text, because only the script of the page sends these forms. */
function refuse(reply: FastifyReply): FastifyReply {
  return reply.code(400).send()
}
