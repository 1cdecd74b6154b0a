import type { z } from 'zod'

import type { RouteFacts } from './route.ts'
import type { RouteById, RouteId } from './routes.ts'

type GoodAnswers<R extends RouteFacts> = R['answers'][keyof R['answers'] & (200 | 201 | 202)]

/** The body of a successful answer; a string if it is not JSON. */
export type AnswerOfRoute<R extends RouteFacts> =
  GoodAnswers<R> extends { readonly schema: infer Schema extends z.ZodType }
    ? z.output<Schema>
    : never

export type AnswerOf<Id extends RouteId> = AnswerOfRoute<RouteById<Id>>

/** The body of a request as sent. */
export type SentBody<Id extends RouteId> =
  RouteById<Id> extends { readonly body: infer Schema extends z.ZodType } ? z.input<Schema> : never

/** The names of the parameters of the path. */
export type ParamName<Id extends RouteId> =
  RouteById<Id> extends { readonly params: infer Params } ? keyof Params : never

export type QueryName<Id extends RouteId> =
  RouteById<Id> extends { readonly query: infer Query } ? keyof Query : never

export type DeepReadonly<Value> = Value extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : Value extends object
    ? { readonly [Name in keyof Value]: DeepReadonly<Value[Name]> }
    : Value

type Parsed<Parameters> = {
  readonly [Name in keyof Parameters]: Parameters[Name] extends {
    readonly schema: infer Schema extends z.ZodType
  }
    ? z.output<Schema>
    : never
}

/** A request of the route after parsing. The type of `body` is `unknown` for a route without a body. */
export interface RouteInput<R extends RouteFacts> {
  readonly params: R extends { readonly params: infer Params } ? Parsed<Params> : object
  readonly query: R extends { readonly query: infer Query } ? Partial<Parsed<Query>> : object
  readonly body: R extends { readonly body: infer Schema extends z.ZodType }
    ? z.output<Schema>
    : unknown
}
