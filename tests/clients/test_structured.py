"""response_format and tool_choice as the OpenAI documentation promises them: the answer is valid, whatever the model
would have liked to say. A server that does not offer one of them says so; its tests are then skipped with its words."""

import json
import unittest

import openai
import pydantic
from support import MODEL, WEATHER_TOOL, ClientTest, user, weather_question

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 20},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}


class Person(pydantic.BaseModel):
    name: str
    age: int


class Structured(ClientTest):
    def offered(self, **fields):
        """Skips the test with the server's reason when it refuses the field itself."""
        try:
            return self.chat("Hello!", max_tokens=200, **fields)
        except openai.BadRequestError as error:
            if error.param in fields or (error.param or "").split(".")[0] in fields:
                self.skipTest(f"refused: {error.message}")
            raise

    def schema(self, schema, name="answer", strict=True):
        return {"type": "json_schema", "json_schema": {"name": name, "schema": schema, "strict": strict}}


class ResponseFormat(Structured):
    def setUp(self):
        self.offered(response_format={"type": "json_object"})

    def content(self, text, **fields):
        choice = self.chat(text, **fields).choices[0]
        self.assertEqual(choice.finish_reason, "stop", choice.message)
        return choice.message.content

    def test_text_is_the_default(self):
        self.assertEqual(self.content("Hello!", response_format={"type": "text"}), self.content("Hello!"))

    def test_json_object(self):
        question = "Return a JSON object with the name Alice and the age 30."
        value = json.loads(
            self.content(question, response_format={"type": "json_object"}, reasoning_effort="none", max_tokens=200)
        )
        self.assertEqual(value, {"name": "Alice", "age": 30})

    def test_a_json_object_that_never_ends_is_cut_inside_the_object(self):
        choice = self.client.chat.completions.create(
            model="hearth-tiny", temperature=0, max_tokens=200, messages=[{"role": "user", "content": "Hello!"}],
            response_format={"type": "json_object"}, reasoning_effort="none",
        ).choices[0]
        self.assertTrue(choice.message.content.startswith("{"))
        if choice.finish_reason == "stop":
            self.assertIsInstance(json.loads(choice.message.content), dict)
        else:
            self.assertEqual(choice.finish_reason, "length")

    def test_json_schema(self):
        for effort in ("none", "high"):
            value = json.loads(
                self.content(
                    "Alice is 30. Give me JSON.",
                    response_format=self.schema(PERSON),
                    reasoning_effort=effort,
                    max_tokens=2000,
                )
            )
            self.assertEqual(sorted(value), ["age", "name"])
            self.assertIsInstance(value["name"], str)
            self.assertLessEqual(len(value["name"]), 20)
            self.assertIs(type(value["age"]), int)
            self.assertTrue(0 <= value["age"] <= 150)

    def test_sampling_stays_inside_the_schema(self):
        schema = {
            "type": "object",
            "properties": {
                "color": {"enum": ["red", "green"]},
                "list": {"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 3},
            },
            "required": ["color", "list"],
            "additionalProperties": False,
        }
        for seed in range(6):
            value = json.loads(
                self.content(
                    "Hello!",
                    response_format=self.schema(schema),
                    temperature=1.5,
                    seed=seed,
                    reasoning_effort="none",
                    max_tokens=400,
                )
            )
            self.assertIn(value["color"], ["red", "green"])
            self.assertIn(len(value["list"]), (2, 3))
            self.assertTrue(all(isinstance(item, bool) for item in value["list"]))

    def test_streamed_equals_unstreamed(self):
        fields = {"response_format": self.schema(PERSON), "max_tokens": 2000, "reasoning_effort": "none"}
        parts = [
            c.choices[0].delta.content or "" for c in self.chat("Alice is 30.", stream=True, **fields) if c.choices
        ]
        self.assertEqual("".join(parts), self.content("Alice is 30.", **fields))

    def test_the_sdk_parses_into_a_pydantic_model(self):
        answer = self.client.chat.completions.parse(
            model=MODEL,
            messages=user("Alice is 30. Give me JSON."),
            temperature=0,
            response_format=Person,
            reasoning_effort="none",
            max_tokens=2000,
        )
        self.assertIsInstance(answer.choices[0].message.parsed, Person)

    def test_langchain_structured_output(self):
        from langchain_openai import ChatOpenAI

        model = ChatOpenAI(
            model=MODEL,
            base_url=f"http://127.0.0.1:{self.server.port}/v1",
            api_key="unused",
            temperature=0,
            max_retries=0,
            reasoning_effort="none",
            max_tokens=2000,
        )
        person = model.with_structured_output(Person, method="json_schema").invoke("Alice is 30. Give me JSON.")
        self.assertIsInstance(person, Person)

    def test_what_is_outside_the_subset_is_refused_by_name(self):
        bad = {"type": "object", "properties": {"a": {"not": {"type": "string"}}}}
        with self.assertRaises(openai.BadRequestError) as caught:
            self.chat("Hello!", response_format=self.schema(bad))
        self.assertIn("response_format", caught.exception.param)
        self.assertIn("not", caught.exception.message)
        for wrong in (
            {"type": "yaml"},
            {"type": "json_schema"},
            {"type": "json_schema", "json_schema": {"name": "x", "schema": 7}},
        ):
            with self.assertRaises(openai.BadRequestError):
                self.chat("Hello!", response_format=wrong)


class ToolChoice(Structured):
    def calls(self, text, tools, **fields):
        choice = self.chat(text, tools=tools, max_tokens=2000, **fields).choices[0]
        self.assertEqual(choice.finish_reason, "tool_calls", choice.message)
        return [(c.function.name, json.loads(c.function.arguments)) for c in choice.message.tool_calls]

    def test_required_calls_a_tool(self):
        self.offered(tool_choice="required", tools=[WEATHER_TOOL])
        for effort in ("none", "high"):
            calls = self.calls("Hello!", [WEATHER_TOOL], tool_choice="required", reasoning_effort=effort)
            self.assertEqual({name for name, _ in calls}, {"get_weather"})

    def test_a_named_function_is_called(self):
        named = {"type": "function", "function": {"name": "get_weather"}}
        other = {
            "type": "function",
            "function": {"name": "other", "description": "x", "parameters": {"type": "object", "properties": {}}},
        }
        self.offered(tool_choice=named, tools=[other, WEATHER_TOOL])
        # OpenAI answers a named choice with finish_reason "stop"; both readings exist in the wild, the call counts.
        choice = self.chat("Hello!", tools=[other, WEATHER_TOOL], tool_choice=named, max_tokens=2000).choices[0]
        self.assertIn(choice.finish_reason, ("stop", "tool_calls"))
        self.assertEqual([c.function.name for c in choice.message.tool_calls], ["get_weather"])

    def test_a_name_that_is_no_tool_is_refused(self):
        with self.assertRaises(openai.BadRequestError) as caught:
            self.chat("Hello!", tools=[WEATHER_TOOL], tool_choice={"type": "function", "function": {"name": "nothing"}})
        self.assertIn("tool_choice", caught.exception.param)

    def test_one_call_at_a_time(self):
        question, tools = weather_question("weather-two")
        self.offered(parallel_tool_calls=False, tools=tools)
        self.assertEqual(len(self.calls(question, tools, parallel_tool_calls=False)), 1)


if __name__ == "__main__":
    unittest.main()
