# ruff: noqa: E501
"""Write `instance.json`: an invented house, in the formats of Home Assistant's WebSocket and REST API."""

import json
import random
from datetime import datetime, timedelta
from pathlib import Path

HERE = Path(__file__).parent
NOW = datetime(2026, 11, 12, 18, 0)
AREAS = (
    *("Kitchen", "Living Room", "Bedroom", "Nursery", "Office", "Bathroom", "Guest Room", "Hallway"),
    *("Garage", "Garden", "Cellar", "Attic", "Laundry", "Terrace"),
)
IN_EACH_AREA = (
    *("light|{} Ceiling|off", "light|{} Lamp|off", "switch|{} Socket|off", "sensor|{} Temperature|20.4"),
    *("sensor|{} Humidity|48", "binary_sensor|{} Motion|off", "binary_sensor|{} Window|off"),
    *("cover|{} Blind|open", "climate|{} Radiator|heat", "sensor|{} Illuminance|120"),
    *("sensor|{} Motion Battery|88", "sensor|{} Socket Power|4.2", "media_player|{} Speaker|idle"),
    *("binary_sensor|{} Smoke|off", "update|{} Speaker Firmware|off", "number|{} Radiator Offset|0"),
)
SINGLE = """
lock|Front Door|locked|Hallway; lock|Cellar Door|locked|Cellar; cover|Garage Door|closed|Garage
vacuum|Robo|docked|Hallway; lawn_mower|Mowgli|docked|Garden; alarm_control_panel|House Alarm|disarmed|Hallway
media_player|Television|off|Living Room; media_player|Turntable|off|Living Room; camera|Doorbell|idle|Hallway
camera|Driveway|idle|Garage; humidifier|Nursery Humidifier|off|Nursery; fan|Bedroom Fan|off|Bedroom
fan|Bathroom Extractor|off|Bathroom; water_heater|Boiler|eco|Cellar; valve|Lawn Sprinkler|closed|Garden
switch|Coffee Machine|off|Kitchen; switch|Dishwasher|on|Kitchen; switch|Christmas Tree|off|Living Room
switch|Fairy Lights|off|Terrace; sensor|Washing Machine Remaining Time|34|Laundry; siren|Siren|off|Attic
switch|Car Charger|off|Garage; sensor|Car Battery|62|Garage; sensor|Solar Production|0.3|Attic
sensor|Grid Consumption|1.7|Cellar; weather|Home Forecast|rainy|; person|Ines|home|; person|Rui|not_home|
device_tracker|Rui's Phone|not_home|; device_tracker|Ines's Phone|home|; todo|Shopping List|7|
calendar|Family|off|; calendar|Waste Collection|on|; scene|Movie Night|unknown|Living Room
scene|Good Morning|unknown|Bedroom; scene|Dinner|unknown|Kitchen; script|Goodnight|off|
script|Leave Home|off|
automation|Sunset Blinds|on|; automation|Vacation Presence|off|; timer|Pasta|idle|Kitchen
input_boolean|Guest Mode|off|; input_boolean|Vacation Mode|off|; input_number|Target Humidity|50|
input_select|House Mode|home|; input_datetime|Wake Up|06:45|Bedroom; counter|Coffees Today|3|Kitchen
button|Restart Router|unknown|Office; remote|Harmony Hub|off|Living Room; sun|Sun|below_horizon|
select|Washing Programme|cotton|Laundry; text|Doormat Message|Hello|Hallway; zone|Home|2|; zone|School|0|
"""
SERVICES = """
light.turn_on|Turns on one or more lights and adjusts their brightness or color.|brightness_pct color_name
light.turn_off|Turns off one or more lights.|transition
light.toggle|Toggles one or more lights, from on to off or off to on.|
switch.turn_on|Turns a switch or socket on.|
switch.turn_off|Turns a switch or socket off.|
switch.toggle|Toggles a switch on or off.|
cover.open_cover|Opens a cover, such as a blind, a curtain or a garage door.|
cover.close_cover|Closes a cover, such as a blind, a curtain or a garage door.|
cover.stop_cover|Stops the movement of a cover.|
cover.set_cover_position|Moves a cover to a specific position.|position
cover.set_cover_tilt_position|Moves the slats of a cover to a specific tilt position.|tilt_position
cover.toggle|Toggles a cover open or closed.|
climate.set_temperature|Sets the target temperature of a heater, radiator or air conditioner.|temperature hvac_mode
climate.set_hvac_mode|Sets the operation mode of heating or cooling.|hvac_mode
climate.set_preset_mode|Sets the preset mode of a thermostat, such as eco or away.|preset_mode
climate.set_fan_mode|Sets the fan mode of an air conditioner.|fan_mode
climate.turn_on|Turns climate device on.|
climate.turn_off|Turns climate device off.|
lock.lock|Locks a lock.|code
lock.unlock|Unlocks a lock.|code
lock.open|Opens the latch of a lock.|code
vacuum.start|Starts or resumes the cleaning task of a vacuum cleaner.|
vacuum.pause|Pauses the cleaning task of a vacuum cleaner.|
vacuum.return_to_base|Tells the vacuum cleaner to return to its dock.|
vacuum.locate|Locates the vacuum cleaner robot.|
vacuum.clean_spot|Tells the vacuum cleaner to do a spot clean-up.|
vacuum.set_fan_speed|Sets the suction power of the vacuum cleaner.|fan_speed
lawn_mower.start_mowing|Starts the mowing task.|
lawn_mower.pause|Pauses the lawn mower.|
lawn_mower.dock|Stops the mowing task and returns the lawn mower to the dock.|
alarm_control_panel.alarm_arm_away|Arms the alarm in the away mode.|code
alarm_control_panel.alarm_arm_home|Arms the alarm in the home mode.|code
alarm_control_panel.alarm_arm_night|Arms the alarm in the night mode.|code
alarm_control_panel.alarm_disarm|Disarms the alarm.|code
alarm_control_panel.alarm_trigger|Triggers the alarm manually.|code
media_player.media_play|Starts playing media on a player.|
media_player.media_pause|Pauses media playback on a player.|
media_player.media_stop|Stops the media playback of a player.|
media_player.media_next_track|Selects the next track.|
media_player.media_previous_track|Selects the previous track.|
media_player.volume_set|Sets the volume level of a media player.|volume_level
media_player.volume_up|Turns up the volume of a media player.|
media_player.volume_down|Turns down the volume of a media player.|
media_player.volume_mute|Mutes or unmutes a media player.|is_volume_muted
media_player.play_media|Starts playing specified media: a song, a radio station, a video.|media_content_id media_content_type
media_player.select_source|Sends the media player the command to change the input source.|source
media_player.shuffle_set|Enables or disables the shuffle mode.|shuffle
media_player.turn_on|Turns on the power of a media player, such as a television.|
media_player.turn_off|Turns off the power of a media player, such as a television.|
fan.turn_on|Turns a fan on.|percentage
fan.turn_off|Turns a fan off.|
fan.set_percentage|Sets the speed of a fan.|percentage
fan.oscillate|Controls the oscillation of a fan.|oscillating
humidifier.turn_on|Turns the humidifier on.|
humidifier.turn_off|Turns the humidifier off.|
humidifier.set_humidity|Sets the target humidity.|humidity
water_heater.set_temperature|Sets the target temperature of a water heater or boiler.|temperature
water_heater.set_operation_mode|Sets the operation mode of a water heater.|operation_mode
valve.open_valve|Opens a valve, such as that of a sprinkler.|
valve.close_valve|Closes a valve, such as that of a sprinkler.|
siren.turn_on|Turns the siren on.|tone
siren.turn_off|Turns the siren off.|
camera.snapshot|Takes a snapshot from a camera.|filename
camera.record|Creates a recording of a live camera feed.|duration filename
camera.turn_on|Turns the camera on.|
camera.turn_off|Turns the camera off.|
scene.turn_on|Activates a scene.|transition
scene.create|Creates a new scene from current states.|scene_id
script.turn_on|Runs the sequence of actions of a script.|
script.turn_off|Stops a running script.|
automation.trigger|Triggers the actions of an automation.|
automation.turn_on|Enables an automation.|
automation.turn_off|Disables an automation.|
timer.start|Starts a timer or restarts it with a provided duration.|duration
timer.pause|Pauses a running timer.|
timer.cancel|Resets a timer's duration and stops it.|
timer.finish|Finishes a running timer earlier than scheduled.|
todo.add_item|Adds a new to-do list item, such as something to buy.|item due_date
todo.get_items|Gets the items of a to-do list.|status
todo.update_item|Updates an existing to-do list item, such as marking it completed.|item status
todo.remove_item|Removes an existing to-do list item.|item
calendar.create_event|Adds a new calendar event.|summary start_date_time end_date_time
calendar.get_events|Gets events on a calendar within a time range.|start_date_time end_date_time
weather.get_forecasts|Retrieves the forecast from a weather service.|type
notify.send_message|Sends a notification message to a phone or another device.|message title
tts.speak|Speaks something on a speaker, using text-to-speech.|message media_player_entity_id
conversation.process|Launches a conversation from a transcribed text.|text
input_boolean.turn_on|Turns on a helper toggle, such as guest mode or vacation mode.|
input_boolean.turn_off|Turns off a helper toggle, such as guest mode or vacation mode.|
input_number.set_value|Sets the value of a number helper.|value
input_select.select_option|Selects an option of a dropdown helper, such as the house mode.|option
input_datetime.set_datetime|Sets the date and time of a helper, such as the wake-up time.|time date
counter.increment|Increments a counter by its step size.|
counter.reset|Resets a counter to its initial value.|
button.press|Presses a button entity.|
remote.send_command|Sends a command to a remote-controlled device.|command
remote.turn_on|Turns a remote on, with an activity.|activity
select.select_option|Selects an option, such as a washing programme.|option
number.set_value|Sets the value of a number entity.|value
text.set_value|Sets the value of a text entity.|value
update.install|Installs an update of a device's firmware or software.|version
update.skip|Marks the current update as skipped.|
recorder.purge|Starts the purge task of the database.|keep_days
history_stats.reload|Reloads history statistics sensors from the configuration.|
homeassistant.restart|Restarts Home Assistant.|safe_mode
homeassistant.reload_all|Reloads all configuration that can be reloaded.|
homeassistant.update_entity|Forces one or more entities to update their data.|
backup.create_automatic|Creates a new backup with the automatic settings.|
persistent_notification.create|Shows a notification on the notifications panel.|message title
logbook.log|Tracks a custom activity in the logbook.|name message
"""
HABITS = (
    *(("switch.coffee_machine", "switch.turn_on", 7), ("scene.good_morning", "scene.turn_on", 7)),
    *(("script.goodnight", "script.turn_on", 23), ("media_player.television", "media_player.turn_on", 20)),
    *(("light.office_lamp", "light.turn_on", 9), ("lock.front_door", "lock.lock", 22)),
    ("vacuum.robo", "vacuum.start", 10),
)
"""Entity, service and hour: what the house does every day."""


def slug(text: str) -> str:
    """The object id of a name."""
    return "".join(letter if letter.isalnum() else "_" for letter in text.casefold().replace("'", ""))


def main() -> None:
    """Write the file."""
    rng = random.Random(34)  # noqa: S311
    rows = [
        (*row.format(area).split("|"), area)
        for area in AREAS
        for row in IN_EACH_AREA
        if area not in ("Garden", "Terrace") or row.startswith(("light", "switch", "sensor", "binary"))
    ]
    rows += [
        tuple(part.strip().split("|"))
        for line in SINGLE.split("\n")
        for part in line.split(";")
        if part.strip()
    ]
    states, registry = [], []
    for domain, name, state, area in rows:
        entity = f"{domain}.{slug(name)}"
        changed = NOW - timedelta(minutes=rng.randint(1, 4000))
        states.append(  # pyright: ignore[reportUnknownMemberType]
            {
                "entity_id": entity,
                "state": state,
                "attributes": {"friendly_name": name},
                "last_changed": changed.isoformat(),
            }
        )
        registry.append({"entity_id": entity, "area_id": slug(area) if area else None})  # pyright: ignore[reportUnknownMemberType]
    services: dict[str, dict[str, object]] = {}
    for line in SERVICES.strip().split("\n"):
        identifier, description, fields = line.split("|")
        domain, name = identifier.split(".")
        services.setdefault(domain, {})[name] = {
            "name": name.replace("_", " ").capitalize(),
            "description": description,
            "fields": {field: {"required": False} for field in fields.split()},
        }
    logbook = [
        {
            "entity_id": entity,
            "service": service,
            "when": (NOW - timedelta(days=day)).replace(hour=hour).isoformat(),
        }
        for day in range(1, 22)
        for entity, service, hour in HABITS
    ]
    content = {
        "now": NOW.isoformat(),
        "areas": [{"area_id": slug(area), "name": area} for area in AREAS],
        "states": states,
        "entity_registry": registry,
        "services": services,
        "logbook": logbook,
    }
    (HERE / "instance.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
