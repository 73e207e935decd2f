// #region nest
import "reflect-metadata";
import {
  Body,
  Controller,
  HttpException,
  Inject,
  Module,
  type OnApplicationShutdown,
  Param,
  Post,
} from "@nestjs/common";
import { Toolkit } from "toolweave";
import { failure, toolkit } from "./toolkit.ts";

@Controller()
export class CallController implements OnApplicationShutdown {
  readonly #toolkit: Toolkit;

  constructor(@Inject(Toolkit) given: Toolkit) {
    this.#toolkit = given;
  }

  @Post("call/:name")
  async call(@Param("name") name: string, @Body() input: unknown): Promise<unknown> {
    try {
      return await (await this.#toolkit.call(name, input)).json();
    } catch (error) {
      const { status, body } = failure(error);
      throw new HttpException(body, status);
    }
  }

  /** Called after `app.enableShutdownHooks()`. */
  async onApplicationShutdown(): Promise<void> {
    await this.#toolkit.close();
  }
}

@Module({ controllers: [CallController], providers: [{ provide: Toolkit, useValue: toolkit }] })
export class CallModule {}
// #endregion
